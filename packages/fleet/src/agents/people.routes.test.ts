import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { openPeople } from '../../../identity/src/http/open-surfaces.ts'
import { createDownloadRoom } from '../../../identity/src/http/download-room.ts'
import { createServer } from '../../../identity/src/http/server.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { HumanCaller } from '../../../identity/src/access/index.ts'
import { createKeptThings } from './kept-things.ts'
import { agentPeopleRoutes } from './people.routes.ts'

const caller: HumanCaller = { kind: 'human', channel: 'api', role: 'owner', person: 'max' }

/**
 * The people's API with only the routes of agents: it records writes, and the test controls when a log read
 * ends.
 */
function aServer(logs: () => Promise<string> = async () => '') {
  const server = createServer(silentLog)
  const written: string[] = []
  const things = createKeptThings({
    guard: () => {},
    journal: { append: () => {} },
    runtime: { logs },
    fleet: {
      require: () => ({}) as never,
      requireWorking: () => {},
      reach: async () => {
        throw new Problem('agent-unavailable')
      },
    },
  })
  openPeople(
    server,
    [
      {
        routes: {
          people: (surface) =>
            agentPeopleRoutes(surface, {
              things,
              listMcpServers: async () => ({ agent_id: 'bob', servers: [] }),
              files: {
                read: async () => '',
                write: async (_caller, { path, content }) => {
                  written.push(Buffer.from(content).toString())
                  return { path, size: content.length }
                },
              },
            }),
        },
      },
    ],
    {
      gate: () => caller,
      guard: () => {},
      people: { onChange: () => {}, isProven: () => false },
      clock: createManualClock(),
      keepAliveMs: 1000,
      downloads: createDownloadRoom(),
    },
  )
  onTestFinished(() => server.close())
  return { server, written }
}

test.each([
  ['JSON', 'application/json', '{"a": 1}'],
  ['invalid JSON', 'application/json', '{"a": '],
  ['bytes', 'application/octet-stream', 'ab\u0000'],
  ['text', 'text/plain; charset=utf-8', 'words'],
  ['something without a name', undefined, 'words'],
])('a file that is put as %s is what was sent', async (_what, contentType, payload) => {
  const { server, written } = aServer()
  const headers = contentType === undefined ? {} : { 'content-type': contentType }
  const url = '/api/agents/bob/files/keep.txt'
  const reply = await server.inject({ method: 'PUT', url, headers, payload: Buffer.from(payload) })
  expect([reply.statusCode, reply.json()]).toEqual([200, { path: 'keep.txt', size: payload.length }])
  expect(written).toEqual([payload])
})

test('logs that one person reads at once are bounded', async () => {
  let asked = 0
  let end: (text: string) => void = () => {}
  const ended = new Promise<string>((resolve) => (end = resolve))
  const { server } = aServer(() => {
    asked++
    return ended
  })
  const look = () => server.inject({ method: 'GET', url: '/api/agents/bob/logs' })
  const waiting = [1, 2, 3, 4].map(look)
  await expect.poll(() => asked, { timeout: 10_000 }).toBe(4)
  expect((await look()).json()).toMatchObject({ code: 'rate-limited', status: 429 })
  end('one\n')
  for (const reply of await Promise.all(waiting)) expect(reply.json()).toEqual({ lines: ['one'] })
  expect((await look()).statusCode).toBe(200)
})
