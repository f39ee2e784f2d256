import { inspect } from 'node:util'

/**
 * A value that must not be shown. It prints as `[secret]` in JSON, templates, logs and inspection; only adapters that
 * send it to another system call `reveal`.
 */
export interface Secret {
  /** The credential's name in the vault; names are not secret. */
  readonly name: string
  reveal(): string
}

const show = () => '[secret]'

export function createSecret(name: string, value: string): Secret {
  // The value is only in the closure, so that enumerating properties does not find it.
  const secret = { name, reveal: () => value }
  for (const hook of ['toJSON', 'toString', Symbol.toPrimitive, inspect.custom]) {
    Object.defineProperty(secret, hook, { value: show, enumerable: false })
  }
  return Object.freeze(secret)
}
