/**
 * The reason why a sandbox, its network or its engine cannot be used. The message tells the owner how to repair that;
 * `id` is stable, for `doctor` and tests.
 */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly id: string

  constructor(id: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.id = id
  }
}

/** Splits the message into what happened and what the owner should do; without a repair it names `doctor`. Pure. */
export function sandboxWords(error: SandboxError): { readonly detail: string; readonly repair: string } {
  const [detail = '', repair = ''] = error.message.split(/\nRepair: (.*)/s)
  const trimmedRepair = repair.trim()
  return {
    detail: detail.trim(),
    repair:
      trimmedRepair === ''
        ? 'Run flotilla doctor, which names what is missing on this machine.'
        : trimmedRepair,
  }
}

/** The message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the error for a restore of an agent whose data exists already. */
export function dataThere(where: string): SandboxError {
  return new SandboxError(
    'data-there',
    `The folder ${where} already has data.\nRepair: restore into an empty home.`,
  )
}
