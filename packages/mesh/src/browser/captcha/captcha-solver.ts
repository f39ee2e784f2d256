import type { Secret } from '../../credentials/index.ts'

/** Kinds that are answered by a token. */
export type SolvableKind = 'recaptcha' | 'hcaptcha' | 'turnstile'

export interface CaptchaTask {
  readonly kind: SolvableKind
  readonly siteKey: string
  /** Without query and fragment, which may contain private data. */
  readonly pageUrl: string
}

/** Through which the page is visited by who answers. */
export interface SolverProxy {
  readonly type: 'http' | 'socks5'
  readonly address: string
  readonly port: number
  readonly login: Secret | null
  readonly password: Secret | null
}

export interface SolverCall {
  /** Base address of the solver. */
  readonly url: string
  readonly key: Secret
  readonly proxy: SolverProxy | null
  readonly signal: AbortSignal
}

/** `cost`: nano-dollars; null if it is unknown, and up to the whole reservation may be owed. */
export type SolverAnswer =
  | { readonly kind: 'solved'; readonly token: string; readonly costNano: number | null }
  /** The task was rejected, or is not charged. */
  | { readonly kind: 'refused'; readonly why: string }
  /** The task was accepted and no answer came: it may be charged all the same. */
  | { readonly kind: 'lost'; readonly why: string }

/**
 * PORT: a paid CAPTCHA solver. Adapters pass `captcha-solver.conformance.ts`.
 *
 * Contract
 * - P1 It resolves within `captchaSolverBounds.answerWithinMs` and never rejects: an end by the signal is
 *   `lost` too.
 * - P2 A token has at most 8192 visible ASCII characters; `why` is one line of the mesh's text with at most
 *   a code of the solver, and contains no secret.
 * - P3 One call creates one task, never two.
 */
export type SolveCaptcha = (task: CaptchaTask, call: SolverCall) => Promise<SolverAnswer>
