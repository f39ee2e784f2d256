/** What the native part says of a transaction that failed: a number of one list, or something that holds one of the other. */
export interface NativeFailure {
  err(): NativeError
}

type NativeError =
  | number
  | { readonly index: number; err?(): number | { readonly code: number } | { readonly msg: string } }
  | { readonly accountIndex: number }

/** In the order of the numbers; those behind them are of no use here. */
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

/** As JSON-RPC has it. */
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

/** Whether a transaction that failed so stands in a block all the same, and has cost its fee. */
export function stillLands(err: unknown): boolean {
  return typeof err === 'object' && err !== null
}
