import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { reachingCalls } from '../support/reaching-calls.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'
import { startWireUpstream } from '../support/wire-upstream.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const png = Buffer.from('\x89PNG\r\n\x1a\nthe rest of a picture', 'latin1')
const chatModel = 'fake/m'
const messagesModel = 'anthropic/claude-haiku-4-5'

const answers = z.array(z.object({ what: z.string(), status: z.number(), text: z.string() }))
const seenSchema = z.object({ chat: answers, messages: answers })
type Calls = Record<'chat' | 'messages', readonly { readonly what: string; readonly body: object }[]>

withEngine(
  'the model gateway as a way out',
  () => {
    let mesh: MeshProcess
    let chats: LlmUpstream
    let anthropic: LlmUpstream
    let web: WebServer

    beforeAll(async () => {
      chats = await startWireUpstream('openai')
      anthropic = await startWireUpstream('anthropic')
      web = await startWebServer((_request, response) => void response.end(png))
      const price = { input_per_mtok: 1, output_per_mtok: 2 }
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        environment: { FLOTILLA_NO_INSTALL: '1', FLOTILLA_SYSTEM_FAKE_KEY: 'sk-upstream-key-0123456789' },
        settings: {
          providers: {
            fake: { kind: 'openai-compatible', base_url: chats.baseUrl, api_key: 'fake_key' },
            anthropic: { kind: 'anthropic', base_url: anthropic.baseUrl, api_key: 'fake_key' },
          },
          models: { [chatModel]: { price }, [messagesModel]: { price } },
          agents: Object.fromEntries(
            ['clerk', 'locked'].map((id) => [id, { models: [chatModel, messagesModel] }]),
          ),
          egress: { allowed_private: [`127.0.0.1:${web.port}`] },
        },
      })
      const program = await readFile(join(repositoryRoot, 'tests', 'support', 'reaching-program.mjs'))
      for (const id of ['clerk', 'locked']) {
        await mesh.createWorker(id)
        await write(id, 'reach.mjs', program)
      }
      await takeHttpFrom('locked')
    })
    afterAll(async () => {
      await mesh?.stop()
      await chats?.close()
      await anthropic?.close()
      await web?.close()
    })

    async function write(agent: string, path: string, bytes: Uint8Array): Promise<void> {
      const reply = await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: agent, path },
        body: new Uint8Array(bytes),
      })
      if (reply.status !== 200) throw new Error(reply.text)
    }

    /** Removes `http` by an edit of the file, as an owner does. The edit is in force once a request is refused. */
    async function takeHttpFrom(agent: string): Promise<void> {
      const path = join(mesh.home, 'config', 'permissions.json')
      const file = z
        .looseObject({ permissions: z.record(z.string(), z.looseObject({})) })
        .parse(JSON.parse(await readFile(path, 'utf8')))
      file.permissions[agent] = { ...file.permissions[agent], allowed_apis: ['llm'] }
      await writeFile(path, JSON.stringify(file, null, 2))
      await eventually(`${agent} has no http`, async () => {
        const run = await mesh.invoke(agent, 'http_request', { url: `http://127.0.0.1:${web.port}/probe` })
        return JSON.stringify(run.outcome).includes('denied')
      })
    }

    /** Sends these calls from a program inside and returns the answers. */
    async function sends(agent: string, calls: Calls): Promise<z.infer<typeof seenSchema>> {
      await write(agent, 'calls.json', Buffer.from(JSON.stringify(calls)))
      const run = await mesh.invoke(agent, 'run_command', {
        command: `node reach.mjs calls.json ${chatModel} ${messagesModel} > seen.txt && node -e "
          const seen = JSON.parse(require('fs').readFileSync('seen.txt', 'utf8').slice(5));
          for (const kind of ['chat', 'messages']) for (const one of seen[kind]) one.text = one.text.slice(0, 160);
          console.log('SHORT ' + require('zlib').deflateSync(JSON.stringify(seen)).toString('base64'))"`,
        timeout_s: 300,
      })
      const json = JSON.stringify(run.outcome)
      const packed = /SHORT ([A-Za-z0-9+/=]+)/.exec(json)?.[1]
      if (packed === undefined) throw new Error(`the program said: ${json}`)
      return seenSchema.parse(JSON.parse(inflateSync(Buffer.from(packed, 'base64')).toString()))
    }

    it.each(['locked', 'clerk'])(
      'the model gateway is closed to every spelling of a program inside %s',
      async (agent) => {
        const seen = await sends(agent, reachingCalls)
        expect(seen.chat).toHaveLength(reachingCalls.chat.length)
        expect(seen.messages).toHaveLength(reachingCalls.messages.length)
        for (const one of [...seen.chat, ...seen.messages]) {
          expect([400, 403], `${one.what}: ${one.text}`).toContain(one.status)
        }
        expect([...chats.calls, ...anthropic.calls].map(({ body }) => body)).toEqual([])
      },
    )

    it('a picture is fetched for an agent with the permission and sent on as data, and not fetched for other agents', async () => {
      const url = `http://127.0.0.1:${web.port}/picture?d=secret`
      const hi = { type: 'text', text: 'hi' }
      const calls: Calls = {
        chat: [
          {
            what: 'a picture',
            body: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }, hi] }] },
          },
        ],
        messages: [
          {
            what: 'a picture',
            body: {
              messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }, hi] }],
            },
          },
        ],
      }
      const before = web.requests.length
      const refused = await sends('locked', calls)
      expect([...refused.chat, ...refused.messages].map(({ status }) => status)).toEqual([403, 403])
      expect(web.requests).toHaveLength(before)
      expect([...chats.calls, ...anthropic.calls]).toEqual([])
      const taken = await sends('clerk', calls)
      expect([...taken.chat, ...taken.messages].map(({ status }) => status)).toEqual([200, 200])
      expect(web.requests.slice(before).map((request) => request.url)).toEqual([
        '/picture?d=secret',
        '/picture?d=secret',
      ])
      for (const { calls: sent } of [chats, anthropic]) {
        expect(sent).toHaveLength(1)
        const body = JSON.stringify(sent[0]?.body)
        expect(body).not.toContain('secret')
        expect(body).toContain(png.toString('base64'))
      }
    })
  },
  found,
)
