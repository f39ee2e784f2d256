import type { ModelView } from '@flotilla/protocol/models-api'

/** Why a model is free; null if it has a price. */
export type FreeBecause = ModelView['free_because']

interface CostSaid {
  /** True if the owner has set a price for the model. */
  readonly hasPrice: boolean
  /** The owner's setting `local` for the model and for its provider; null if the owner has not set it. */
  readonly modelLocal: boolean | null
  readonly providerLocal: boolean | null
  /** The configured address; null for a scripted model. */
  readonly baseUrl: string | null
}

/**
 * Returns why a model is free, or null. The owner's most specific setting wins: a price, then `local` of the model,
 * then `local` of its provider. Without any, the configured address decides: no name but `localhost` is resolved, and
 * no server's answer counts. A local proxy to a paid provider needs a price or `local: false`. Pure.
 */
export function freeBecause({ hasPrice, modelLocal, providerLocal, baseUrl }: CostSaid): FreeBecause {
  if (baseUrl === null) return 'played'
  if (hasPrice) return null
  const isLocal = modelLocal ?? providerLocal
  if (isLocal !== null) return isLocal ? 'declared' : null
  return isThisMachine(baseUrl) ? 'this-machine' : null
}

/** Returns true for 127.0.0.0/8, ::1 and `localhost`. The address parser has normalized all spellings. */
function isThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}
