import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { eventually } from '../support/eventually.ts'
import { startDiggerMesh } from './digger-mesh.ts'
import type { DiggerMesh } from './digger-mesh.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const pipelineSeconds = process.env['FLOTILLA_SOAK'] === '1' ? 5 : 3

/** A program that sends bodies of one length to the model gateway: one text, or two million values. */
const parsingProgram = `
const { request } = require('node:http')
const { writeFileSync } = require('node:fs')
const [kind, count, file] = process.argv.slice(2)
const length = 4_000_000
const bodies = {
  text: () => '{"model":"scripted/parsing","messages":[{"role":"user","content":"' + 'x'.repeat(length - 68) + '"}]}',
  values: () => '{"model":"scripted/parsing","messages":[' + '1,'.repeat((length - 44) / 2) + '11]}',
  names: () => '{"model":"scripted/parsing","messages":[{' + Array.from({ length: 250_000 }, (_, at) => '"n' + (100_000 + at) + '":1').join(',') + '}]}',
  headers: () => '{"server":"x","method":"POST","url":null,"headers":{' + Array.from({ length: 300_000 }, (_, at) => '"n' + (100_000 + at) + '":1').join(',') + '}}',
  levels: () => '{"model":"scripted/parsing","messages":' + '['.repeat(length / 2) + ']'.repeat(length / 2) + '}',
}
const body = bodies[kind]()
const url = process.env.OPENAI_BASE_URL
const asked = kind === 'headers' ? new URL(url).origin + '/mesh/mcp' : url + '/chat/completions'
const headers = { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' }
const call = (method, address, sent) => new Promise((resolve) => {
  const sending = request(address, { method, headers: { ...headers, 'content-length': Buffer.byteLength(sent) } }, (reply) => {
    reply.resume().on('end', () => resolve(reply.statusCode)).on('error', () => resolve(reply.statusCode))
  })
  sending.on('error', (error) => resolve(error.code))
  sending.end(sent)
})
async function main() {
  // Waits until the run that started this program has ended.
  while (file && (await call('GET', url + '/models', '')) !== 403) await new Promise((resolve) => setTimeout(resolve, 50))
  const said = JSON.stringify(await Promise.all(Array.from({ length: Number(count) }, () => call('POST', asked, body))))
  if (file) writeFileSync(file, said)
  else console.log(said)
}
main()
`

/**
 * A program that sends requests on many connections for some seconds, pipelined or one at a time, and prints how
 * many connections were closed on it.
 */
const pipelineProgram = `
const { connect } = require('node:net')
const [kind, where, seconds] = process.argv.slice(2)
const target = new URL(where === 'proxy' ? process.env.HTTP_PROXY || process.env.http_proxy : process.env.OPENAI_BASE_URL)
const one = where === 'proxy' ? 'GET http://a/ HTTP/1.1\\r\\nHost:a\\r\\n\\r\\n' : 'GET /x HTTP/1.1\\r\\nHost:a\\r\\n\\r\\n'
const sent = kind === 'pipelined' ? one.repeat(9000) : one
const end = Date.now() + seconds * 1000
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
setTimeout(() => { console.log('hung up ' + hungUp); process.exit() }, seconds * 1000 + 500)
`

withEngine(
  'a container that would stall the people',
  (engine) => {
    let digger: DiggerMesh
    let homeId: string

    beforeAll(async () => {
      digger = await startDiggerMesh({ 'send.cjs': parsingProgram, 'pipeline.cjs': pipelineProgram })
      homeId = (await readFile(join(digger.mesh.home, 'data', 'home-id'), 'utf8')).trim()
    })
    afterAll(() => digger?.mesh.stop())

    it('bodies that are expensive to parse delay people no more than plain bodies of the same length, with and without a live run', async () => {
      const { run, longestSilence } = digger
      await run('node send.cjs text 1')
      const honest = await longestSilence(run('node send.cjs text 4'))
      expect(honest.came).toContain('[200,200,200,200]')

      for (const kind of ['values', 'names', 'levels']) {
        const hostile = await longestSilence(run(`node send.cjs ${kind} 4`))
        expect(hostile.came, kind).toContain('[413,413,413,413]')
        expect(hostile.ms, `${kind}, against ${honest.ms} ms`).toBeLessThan(4 * honest.ms)
      }

      const began = await run('setsid node send.cjs headers 16 /data/late.json > /dev/null 2>&1 & echo began')
      expect(began).toContain('began')
      const container = engine.docker.getContainer(sandboxName(homeId, 'digger'))
      const late = await longestSilence(
        eventually(
          'a program without a run has its answers',
          async () => {
            try {
              return await text(await container.getArchive({ path: '/data/late.json' }))
            } catch {
              return null
            }
          },
          120_000,
        ),
      )
      const answers: unknown = JSON.parse(/\[[^\]]*\]/.exec(late.came)?.[0] ?? '[]')
      expect(answers).toHaveLength(16)
      // The mesh closes connections that still send after their time to finish.
      for (const answer of answers as readonly unknown[])
        expect([403, 'EPIPE', 'ECONNRESET']).toContain(answer)
      expect(answers).toContain(403)
      expect(late.ms, `without a run, against ${honest.ms} ms`).toBeLessThan(4 * honest.ms)
    })

    // On a busy machine the API may be silent for a quarter of a second by itself, so the two are compared.
    it('a client that does not wait for answers delays people no more than one that does, at the agent API and at the proxy', async () => {
      const { run, longestSilence } = digger
      for (const where of ['api', 'proxy']) {
        const honest = await longestSilence(run(`node pipeline.cjs honest ${where} ${pipelineSeconds}`))
        const hostile = await longestSilence(run(`node pipeline.cjs pipelined ${where} ${pipelineSeconds}`))
        expect(hostile.came, where).toMatch(/hung up [1-9]/)
        expect(hostile.ms, `at the ${where}, against ${honest.ms} ms`).toBeLessThan(
          4 * Math.max(250, honest.ms),
        )
      }
    })
  },
  found,
)
