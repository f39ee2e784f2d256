/** The native module's view of a failed transaction: an error number, or an object with an instruction error. */
export interface NativeFailure {
  err(): NativeError
}

type NativeError =
  | number
  | { readonly index: number; err?(): number | { readonly code: number } | { readonly msg: string } }
  | { readonly accountIndex: number }

/** In the order of the error numbers; later numbers are not used here. */
const transactionErrors = [
  'AccountInUse',
  'AccountLoadedTwice',
  'AccountNotFound',
  'ProgramAccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
  'AlreadyProcessed',
  'BlockhashNotFound',
  'CallChainTooDeep',
  'MissingSignatureForFee',
  'InvalidAccountIndex',
  'SignatureFailure',
  'InvalidProgramForExecution',
  'SanitizeFailure',
]

const instructionErrors = [
  'GenericError',
  'InvalidArgument',
  'InvalidInstructionData',
  'InvalidAccountData',
  'AccountDataTooSmall',
  'InsufficientFunds',
  'IncorrectProgramId',
  'MissingRequiredSignature',
  'AccountAlreadyInitialized',
  'UninitializedAccount',
]

/** Returns the failure as JSON-RPC names it. */
export function failureName(failure: NativeFailure): unknown {
  const error = failure.err()
  if (typeof error === 'number') return transactionErrors[error] ?? `TransactionError${error}`
  if ('accountIndex' in error) return { InsufficientFundsForRent: { account_index: error.accountIndex } }
  const inner = error.err?.()
  if (inner === undefined) return { DuplicateInstruction: error.index }
  if (typeof inner === 'number') {
    return { InstructionError: [error.index, instructionErrors[inner] ?? `InstructionError${inner}`] }
  }
  return { InstructionError: [error.index, 'code' in inner ? { Custom: inner.code } : 'BorshIoError'] }
}

/** Whether a transaction with this failure is still included in a block, and has paid its fee. */
export function stillLands(err: unknown): boolean {
  return typeof err === 'object' && err !== null
}
