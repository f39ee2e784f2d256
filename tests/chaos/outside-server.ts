import { setTimeout as sleep } from 'node:timers/promises'
import { startWebServer } from '../support/web-server.ts'
import type { Chance } from './chance.ts'
import type { EffectFact } from './facts.ts'

export interface OutsideServer {
  readonly place: string
  readonly address: string
  /** Each request that came, under the id of the call that it names. */
  effects(): readonly EffectFact[]
  close(): Promise<void>
}

/** The world outside: counts what reaches it, and takes its time over the answer. */
export async function startOutsideServer(chance: Chance): Promise<OutsideServer> {
  const server = await startWebServer((_request, response) => {
    void sleep(chance.percent(20) ? chance.between(200, 900) : chance.between(0, 60)).then(() =>
      response.end('counted'),
    )
  })
  const place = `127.0.0.1:${server.port}`
  return {
    place,
    address: `http://${place}`,
    effects: () =>
      server.requests.map(({ method, body }, index) => ({
        callId: body,
        where: `request ${index + 1} outside, ${method}`,
      })),
    close: () => server.close(),
  }
}
