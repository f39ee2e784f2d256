import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

/** Pipelined requests, or such as wait for their answers, on many connections at once, for some seconds; says how often it was hung up on. */
const program = `
const { connect } = require('node:net')
const [kind, where] = process.argv.slice(2)
const target = new URL(where === 'proxy' ? process.env.HTTP_PROXY || process.env.http_proxy : process.env.OPENAI_BASE_URL)
const one = where === 'proxy' ? 'GET http://a/ HTTP/1.1\\r\\nHost:a\\r\\n\\r\\n' : 'GET /x HTTP/1.1\\r\\nHost:a\\r\\n\\r\\n'
const sent = kind === 'pipelined' ? one.repeat(9000) : one
const end = Date.now() + 5000
let hungUp = 0
const open = () => {
  const socket = connect(Number(target.port), target.hostname)
  socket.on('error', () => undefined)
  if (kind === 'honest') socket.resume()
  socket.on('connect', () => socket.write(sent))
  socket.on('close', () => {
    hungUp += 1
    if (Date.now() < end) setTimeout(open, 20)
  })
}
for (let at = 0; at < 100; at++) open()
setTimeout(() => { console.log('hung up ' + hungUp); process.exit() }, 5500)
`

withEngine(
  'a container that does not wait for its answers',
  () => {
    let mesh: MeshProcess

    beforeAll(async () => {
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { parsing: aCassette({ turns: [says('Read.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1' },
      })
      await mesh.createWorker('digger')
      const params = { id: 'digger', path: 'pipeline.cjs' }
      const put = await mesh.call(meshHumanEndpoints.fileWrite, {
        params,
        body: new Uint8Array(Buffer.from(program)),
      })
      if (put.status !== 200) throw new Error(put.text)
    })
    afterAll(() => mesh?.stop())

    async function run(command: string): Promise<string> {
      const done = await mesh.invoke('digger', 'run_command', { command, timeout_s: 200 })
      const { result } = done.outcome ?? {}
      return typeof result === 'string' ? result : JSON.stringify(done.outcome)
    }

    /** The longest that the people's door was silent while something went on, milliseconds. */
    async function longestSilence<T>(during: Promise<T>): Promise<{ readonly ms: number; readonly came: T }> {
      const over = new AbortController()
      const ended = during.finally(() => over.abort())
      let ms = 0
      while (!over.signal.aborted) {
        const asked = performance.now()
        const reply = await mesh.call(meshHumanEndpoints.healthz, { timeoutMs: 120_000 })
        expect(reply.status).toBe(200)
        ms = Math.max(ms, performance.now() - asked)
      }
      return { ms, came: await ended }
    }

    // A machine that many use is silent for a quarter of a second by itself.
    it('stalls the people by no more than one that waits does, at its door and at the proxy', async () => {
      for (const where of ['door', 'proxy']) {
        const honest = await longestSilence(run(`node pipeline.cjs honest ${where}`))
        const hostile = await longestSilence(run(`node pipeline.cjs pipelined ${where}`))
        expect(hostile.came, where).toMatch(/hung up [1-9]/)
        expect(hostile.ms, `at the ${where}, against ${honest.ms} ms`).toBeLessThan(
          4 * Math.max(250, honest.ms),
        )
      }
    })
  },
  found,
)
