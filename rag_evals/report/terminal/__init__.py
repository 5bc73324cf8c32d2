"""How is a run shown in a terminal?"""
