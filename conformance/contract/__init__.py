"""The interface as data: its operations (`openapi.yaml`) and what is required of them (`requirements.yaml`)."""

from conformance.contract.loader import Auth, Contract, DataShape, Operation, Parameter, load_contract, openapi_document

__all__ = ["Auth", "Contract", "DataShape", "Operation", "Parameter", "load_contract", "openapi_document"]
