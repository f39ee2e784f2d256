import { afterAll, beforeAll, expect, it } from 'vitest'
import { startDiggerMesh } from './digger-mesh.ts'
import type { DiggerMesh } from './digger-mesh.ts'
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
    let digger: DiggerMesh

    beforeAll(async () => {
      digger = await startDiggerMesh('pipeline.cjs', program)
    })
    afterAll(() => digger?.mesh.stop())

    // A machine that many use is silent for a quarter of a second by itself.
    it('stalls the people by no more than one that waits does, at its door and at the proxy', async () => {
      const { run, longestSilence } = digger
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
