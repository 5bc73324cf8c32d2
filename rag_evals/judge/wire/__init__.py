"""What is sent to an endpoint, and what does its reply say?"""
