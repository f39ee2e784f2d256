import type { Secret } from '../../credentials/index.ts'

/** Kinds that are answered by a token. */
export type SolvableKind = 'recaptcha' | 'hcaptcha' | 'turnstile'

export interface CaptchaTask {
  readonly kind: SolvableKind
  readonly siteKey: string
  /** Without query and fragment: they may hold what is nobody's business. */
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
  /** Base address of who is asked. */
  readonly url: string
  readonly key: Secret
  readonly proxy: SolverProxy | null
  readonly signal: AbortSignal
}

/** `cost`: nano-dollars; null where it is not told, and so may be all that was set aside. */
export type SolverAnswer =
  | { readonly kind: 'solved'; readonly token: string; readonly costNano: number | null }
  /** Nothing was taken on, or nothing is charged for it. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It was taken on and no answer came: it may cost all the same. */
  | { readonly kind: 'lost'; readonly why: string }

/**
 * PORT: who answers CAPTCHAs for money. Adapters pass `captcha-solver.conformance.ts`.
 *
 * Contract
 * - P1 It resolves within `captchaSolverBounds.answerWithinMs`, and rejects never: an end by the signal is `lost` too.
 * - P2 A token has at most 8192 visible characters of ASCII; `why` is one line of ours, with a code of theirs at most, and
 *   no secret in it.
 * - P3 One call has one task made, never two.
 */
export type SolveCaptcha = (task: CaptchaTask, call: SolverCall) => Promise<SolverAnswer>
