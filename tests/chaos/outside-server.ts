import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startWebServer } from '../support/web-server.ts'
import type { Chance } from './chance.ts'
import type { EffectFact } from './facts.ts'

export interface OutsideServer {
  readonly place: string
  readonly address: string
  /** Each request that arrived, under the id of the call that it names. */
  effects(): readonly EffectFact[]
  /** Resolves after `count` further requests, or at the signal. */
  requests(count: number, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** A server for external requests of agents: counts what reaches it, and answers after a delay. */
export async function startOutsideServer(chance: Chance): Promise<OutsideServer> {
  const arrivals = new EventEmitter()
  const server = await startWebServer((_request, response) => {
    arrivals.emit('request')
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
    async requests(count, signal) {
      for (let seen = 0; seen < count && !signal.aborted; seen++) {
        await once(arrivals, 'request', { signal }).catch(() => null)
      }
    },
    close: () => server.close(),
  }
}
