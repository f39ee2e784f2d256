import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chatSessionEndpoints } from '@flotilla/protocol/chat-session-api'
import { dashboardEndpoints } from '@flotilla/protocol/dashboard-api'
import { keptEndpoints } from '@flotilla/protocol/kept-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPng } from '../../packages/agent/src/testing/pictures.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'
import { verifies } from '../verifies.ts'

const call = (name: string, more: Record<string, string | number> = {}) => ({ name, arguments: more })
const cassette = {
  version: 1 as const,
  description: '',
  tracks: [
    {
      when: '^look around$',
      turns: [
        {
          tool_calls: [
            call('web_search', { query: 'green tea', count: 2 }),
            call('list_files'),
            call('get_system_status'),
            call('save_artifact', { name: 'note.md', content: 'kept words' }),
            call('list_artifacts'),
            call('read_artifact', { name: 'note.md' }),
          ],
        },
        {
          capture: {
            title: '"title": "([^"]+)"',
            url: '"url": "(https://site[^"]+)"',
            snippet: '"snippet": "([^"]+)"',
            rounds: '"rounds_left": ([0-9]+)',
            origin: '"origin": "([a-z]+)"',
            left: '"left_usd": ([0-9.]+)',
            free: '"free_bytes": ([0-9]+)',
            withheld: '"tool": "(vault_generate_secret)"',
            listed: '"name": "(note[^"]+)"',
            kept: '(kept words)$',
          },
          content:
            '{{title}}|{{url}}|{{snippet}}|{{rounds}}|{{origin}}|{{left}}|{{free}}|{{withheld}}|{{listed}}|{{kept}}',
        },
      ],
    },
    {
      when: '^see$',
      turns: [
        { tool_calls: [call('view_image', { path: 'a.png' })] },
        { capture: { shown: 'What the result of (call) ' }, content: 'saw it in a {{shown}}' },
      ],
    },
    { when: '^again$', turns: [{ content: 'still here' }] },
    {
      when: '^(?!look|see|again)',
      turns: [
        { tool_calls: [call('web_search', { query: 'x' })] },
        { capture: { why: '(allowed_apis does not list web_search)' }, content: '{{why}}' },
      ],
    },
  ],
}

describe('the tools of an agent', () => {
  let mesh: MeshProcess
  let web: WebServer
  beforeAll(async () => {
    // Answers in the format of a SearXNG whose formats include `json`.
    web = await startWebServer((_request, response) => {
      const results = [1, 2, 3].map((index) => ({
        title: `Tea ${index}\u200B`,
        url: `https://site.test/${index}`,
        content: 'leaves \u202E and water',
        engine: 'x',
      }))
      response.end(JSON.stringify({ query: 'green tea', number_of_results: 3, results }))
    })
    const address = `127.0.0.1:${web.port}`
    mesh = await startMesh({
      cassettes: { tools: cassette },
      settings: {
        web_search: { provider: 'searxng', url: `http://${address}` },
        egress: { allowed_private: [address] },
      },
    })
    await mesh.createWorker('scout')
  })
  afterAll(async () => {
    await mesh?.stop()
    await web?.close()
  })

  it('the tools of an agent search the web, show its status, and read saved artifacts', async () => {
    const run = await mesh.ask('look around', { agent: 'scout' })
    const text = run.outcome?.text ?? ''
    expect(text.split('|')).toEqual([
      'Tea 1',
      'https://site.test/1',
      'leaves  and water',
      '29',
      'human',
      expect.stringMatching(/^[0-9.]+$/),
      expect.stringMatching(/^[0-9]+$/),
      'vault_generate_secret',
      'note.md',
      'kept words',
    ])
    expect(web.requests[0]?.url).toBe('/search?q=green+tea&format=json')
  })

  it('the tools of an agent show a picture to the model, which is still there when the mesh and the agent have started anew', async () => {
    await writeFile(join(mesh.dataOf('scout'), 'a.png'), aPng())
    const seen = await mesh.ask('see', { agent: 'scout', session: 'pictures' })
    expect(seen.outcome).toMatchObject({ status: 'done', text: 'saw it in a call' })
    await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'scout' }, body: {} })
    const again = await mesh.ask('again', { agent: 'scout', session: 'pictures' })
    expect(again.outcome).toMatchObject({ status: 'done', text: 'still here' })
  })

  it('the tools of an agent show people the picture too: named in the event and the conversation, drawn by its bytes, and nothing else under its name', async () => {
    const picture = aPng()
    await writeFile(join(mesh.dataOf('scout'), 'a.png'), picture)
    const run = await mesh.ask('see', { agent: 'scout', session: 'shown' })
    const sha256 = createHash('sha256').update(picture).digest('hex')
    const shown = [{ sha256, media_type: 'image/png', size_bytes: picture.length }]
    const { events } = (await mesh.call(dashboardEndpoints.runEvents, { params: { id: run.id } })).json() as {
      events: { body: { type: string; pictures?: unknown } }[]
    }
    expect(events.find(({ body }) => body.type === 'tool.ended')?.body.pictures).toEqual(shown)
    const history = await mesh.call(chatSessionEndpoints.chatHistory, {
      params: { id: 'scout' },
      query: { session: 'shown' },
    })
    const { messages } = history.json() as { messages: { role: string; pictures?: unknown }[] }
    expect(messages.flatMap(({ pictures }) => pictures ?? [])).toEqual(shown)
    const read = (name: string) =>
      mesh.call(keptEndpoints.pictureRead, { params: { id: 'scout', sha256: name } })
    const reply = await read(sha256)
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename="picture.png"',
      'x-content-type-options': 'nosniff',
      'content-length': String(picture.length),
    })
    // Any program in the container can write to this file, so the file is not trusted.
    const page = Buffer.from('<script>alert(1)</script>')
    const nameOfPage = createHash('sha256').update(page).digest('hex')
    const kept = join(mesh.dataOf('scout'), '.flotilla', 'images')
    await writeFile(join(kept, nameOfPage), page)
    await writeFile(join(kept, sha256), Buffer.concat([picture, page]))
    for (const name of [nameOfPage, sha256, '..', 'SOUL.md']) {
      expect((await read(name)).json()).toMatchObject({ code: 'not-found' })
    }
  })

  it('a withheld tool is rejected with the reason when the agent calls it', async () => {
    verifies('resources:worker:tools-by-permission')
    const file = join(mesh.home, 'config', 'permissions.json')
    const before = await readFile(file, 'utf8')
    await writeFile(file, before.replaceAll(/"web_search"/g, '"nothing"'))
    await eventually('the mesh hears of it', async () => {
      const told = await mesh.invoke('scout', 'get_system_status', { section: 'tools' })
      return JSON.stringify(told.outcome).includes('allowed_apis does not list web_search') || null
    })
    const asked = web.requests.length
    const run = await mesh.ask('try it', { agent: 'scout' })
    expect(run.outcome?.text).toBe('allowed_apis does not list web_search')
    expect(web.requests).toHaveLength(asked)
    await writeFile(file, before)
  })
})
