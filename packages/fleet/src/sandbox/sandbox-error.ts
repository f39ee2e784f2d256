/**
 * The reason why a sandbox, its network or its engine cannot be used. The message names the repair in words
 * that the owner can follow; `id` is stable, for `doctor` and tests.
 */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly id: string

  constructor(id: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.id = id
  }
}

/**
 * Splits the message into what happened and what the owner does; without a repair it points to `doctor`.
 * Pure.
 */
export function sandboxWords(error: SandboxError): { readonly detail: string; readonly repair: string } {
  const [detail = '', repair = ''] = error.message.split(/\nRepair: (.*)/s)
  const words = repair.trim()
  return {
    detail: detail.trim(),
    repair: words === '' ? 'Run flotilla doctor, which names what is missing on this machine.' : words,
  }
}

/** The message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The error of a restore into data that exists. */
export function dataThere(where: string): SandboxError {
  return new SandboxError(
    'data-there',
    `The folder ${where} already has data.\nRepair: restore into an empty home.`,
  )
}
