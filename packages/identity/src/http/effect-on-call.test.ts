import fastify from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { createEffectOnce } from '../../../foundation/src/effects/index.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { effectOnCall } from './effect-on-call.ts'

/** Two endpoints that take the same body, each with two methods. */
async function twoEndpoints() {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const effects = createEffectOnce({ database, clock: { now: () => 1000, sleep: async () => {} } })
  const server = fastify()
  onTestFinished(() => server.close())
  const done: string[] = []
  for (const url of ['/stop/:id', '/delete/:id'])
    for (const method of ['POST', 'PUT'])
      server.route({
        method,
        url,
        handler: async (raw, reply) => {
          const agentId = String(raw.headers['x-agent'] ?? 'ada')
          const run = { runId: `run_${agentId}`, fence: 1 } as never // only the run's id is read here
          const caller = { kind: 'agent', agentId, token: 'door', run } as const
          try {
            return effectOnCall(effects, { caller, raw, request: { id: 'x' } }).local(() => {
              done.push(`${agentId} ${method} ${raw.url}`)
              return { did: raw.url }
            })
          } catch (error) {
            return reply.code(409).send(error instanceof Problem ? { code: error.code } : {})
          }
        },
      })
  const send = async (method: 'POST' | 'PUT', url: string, agent = 'ada') =>
    (
      await server.inject({ method, url, headers: { [headers.idempotencyKey]: 'k1', 'x-agent': agent } })
    ).json()
  return { send, done }
}

test('an answer is repeated for the endpoint, method and caller that it was given to, and for no other', async () => {
  const { send, done } = await twoEndpoints()
  expect(await send('POST', '/stop/x')).toEqual({ did: '/stop/x' })
  expect(await send('POST', '/stop/x?again')).toEqual({ did: '/stop/x' })
  expect(await send('POST', '/delete/x')).toEqual({ code: 'conflict' })
  expect(await send('PUT', '/stop/x')).toEqual({ code: 'conflict' })
  expect(await send('POST', '/stop/y')).toEqual({ code: 'conflict' })
  expect(await send('POST', '/delete/x', 'bob')).toEqual({ did: '/delete/x' })
  expect(done).toEqual(['ada POST /stop/x', 'bob POST /delete/x'])
})
