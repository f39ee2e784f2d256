import { createSecret } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'

/**
 * The API keys of the CAPTCHA solver. They come from the mesh's environment and are sent only to the solver.
 */
export interface SolverKeys {
  readonly primary: Secret
  /** The key that is tried if the primary key fails. */
  readonly secondary: Secret | null
  readonly proxyLogin: Secret | null
  readonly proxyPassword: Secret | null
}

/**
 * Reads the keys from the environment, never from a file. Null without a key: then no solver is used. Pure.
 */
export function readSolverKeys(env: Readonly<Record<string, string | undefined>>): SolverKeys | null {
  const secret = (name: string): Secret | null => {
    const value = env[name]?.trim() ?? ''
    return value === '' ? null : createSecret(name.toLowerCase(), value)
  }
  const primary = secret('CAPTCHA_SOLVER_KEY')
  if (primary === null) return null
  return {
    primary,
    secondary: secret('CAPTCHA_SOLVER_KEY_SECONDARY'),
    proxyLogin: secret('CAPTCHA_SOLVER_PROXY_LOGIN'),
    proxyPassword: secret('CAPTCHA_SOLVER_PROXY_PASSWORD'),
  }
}
