import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import { connect } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { anAuthority, anHttp2Site } from '../../../../testing/src/inspection-harness.ts'
import { createHttp2Line } from './http2-line.ts'

const running: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of running.splice(0).toReversed()) await one.close()
})

test('the connection to a server closes when it is unused, also after an answer that took longer', async () => {
  const host = 'code.test'
  const keepAliveMs = 100
  const outside = await anAuthority('outside')
  const site = await anHttp2Site(outside, host, (_request, response) => {
    response.stream.setTimeout(3 * keepAliveMs, () => void response.end('an answer'))
  })
  const sessions: Promise<unknown>[] = []
  site.server.on('session', (session: ServerHttp2Session) => void sessions.push(once(session, 'close')))
  const line = createHttp2Line({
    origin: `https://${host}`,
    open: async () => {
      const socket = connect({
        port: site.port,
        host: '127.0.0.1',
        servername: host,
        ca: outside.certificate,
        ALPNProtocols: ['h2'],
      })
      await once(socket, 'secureConnect')
      return socket
    },
    clock: systemClock,
    keepAliveMs,
  })
  running.push(site, line)
  const { signal } = new AbortController()
  const answer = await line.send({ method: 'GET', path: '/', headers: ['Host', host], body: null, signal })
  let body = ''
  for await (const piece of answer.body) body += String(piece)
  expect(body).toBe('an answer')
  expect(sessions).toHaveLength(1)
  await sessions[0]
})
