"""Shelf 8: experiments; each module reads like the table or figure it makes."""
