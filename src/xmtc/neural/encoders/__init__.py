"""Encoders: any Hugging Face encoder, a BiLSTM, a CNN. Text in, one vector out."""
