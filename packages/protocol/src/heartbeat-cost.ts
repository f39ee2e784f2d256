import { minutesOf } from './heartbeat-api.ts'

/**
 * Tokens of one heartbeat that finds nothing: system prompt, tools and message in, `HEARTBEAT_OK` out. An estimate
 * for people who choose an interval; a heartbeat that works on something uses more.
 */
export const quietHeartbeatTokens = { input: 4000, output: 100 } as const

const minutesADay = 24 * 60

interface Price {
  readonly input_per_mtok: number
  readonly output_per_mtok: number
}

/** Returns the model that answers in heartbeats of an agent: the one that the settings choose, else its own. Pure. */
export function heartbeatModel<Model extends { readonly id: string; readonly chosen_for: readonly string[] }>(
  models: readonly Model[],
  own: string | undefined,
): Model | null {
  return (
    models.find(({ chosen_for: chosenFor }) => chosenFor.includes('heartbeat')) ??
    models.find(({ id }) => id === own) ??
    null
  )
}

/** The maximum cost of a day of heartbeats that find nothing, in US dollars. Pure. */
export function heartbeatUsdADay(schedule: string, price: Price): number {
  const { input, output } = quietHeartbeatTokens
  const usdACall = (input * price.input_per_mtok + output * price.output_per_mtok) / 1_000_000
  return (minutesADay / minutesOf(schedule)) * usdACall
}

/**
 * Says what a day of a heartbeat costs at the price of its model. `model` is null if the model is not known. Pure.
 */
export function describeHeartbeatCost(
  schedule: string,
  model: { readonly id: string; readonly price: Price | null; readonly free_because: string | null } | null,
): string {
  const perDay = minutesADay / minutesOf(schedule)
  const calls =
    perDay >= 1 ? `up to ${Math.floor(perDay)} model calls a day` : 'less than one model call a day'
  if (model?.free_because != null) return `${schedule}: ${calls}, which cost nothing with ${model.id}.`
  if (!model?.price) return `${schedule}: ${calls}; the price of its model is not known.`
  const usd = heartbeatUsdADay(schedule, model.price)
  const about = usd < 0.01 ? 'less than $0.01' : `about $${usd.toFixed(2)}`
  return `${schedule}: ${calls}, ${about} a day at the price of ${model.id} if each finds nothing to do.`
}
