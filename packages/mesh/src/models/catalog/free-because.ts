import type { ModelView } from '@flotilla/protocol/models-api'

/** Why a model costs nothing; null where it has a price. */
export type FreeBecause = ModelView['free_because']

interface CostSaid {
  /** The owner gives the model a price. */
  readonly hasPrice: boolean
  /** What the owner says of the model and of its provider; null where nothing is said. */
  readonly modelLocal: boolean | null
  readonly providerLocal: boolean | null
  /** As it is configured; null for what is played here. */
  readonly baseUrl: string | null
}

/**
 * The nearest word of the owner's holds: a price, then `local` of the model, then that of its provider. Where nothing is
 * said, the configured address decides, as it is written: no name is looked up but `localhost`, and nothing that a
 * server answers counts. A proxy of the owner's that passes calls on to a paid provider wants a price or `local: false`.
 * Pure.
 */
export function freeBecause({ hasPrice, modelLocal, providerLocal, baseUrl }: CostSaid): FreeBecause {
  if (baseUrl === null) return 'played'
  if (hasPrice) return null
  const said = modelLocal ?? providerLocal
  if (said !== null) return said ? 'declared' : null
  return isThisMachine(baseUrl) ? 'this-machine' : null
}

/** 127.0.0.0/8, ::1 and `localhost`. The parser of addresses has made one spelling of all that mean the same. */
function isThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}
