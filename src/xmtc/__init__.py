"""xmtc"""
