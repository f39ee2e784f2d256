import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { taskHumanEndpoints } from '@flotilla/protocol/task-api'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import type { CallOptions } from '../support/mesh-calls.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

/** Each element would set `ran`, open a dialog or send a request to another host if it were rendered as markup. */
const markup = [
  '<img src=x onerror="window.ran=1;alert(1)">',
  '<svg onload="window.ran=2"><image href="http://203.0.113.9/a.png"/></svg>',
  '<script>window.ran=3</script>',
  '<iframe srcdoc="<script>parent.ran=4</script>"></iframe>',
  '<a href="javascript:window.ran=5" autofocus onfocus="window.ran=6">x</a>',
  '<form action="http://203.0.113.9/"><button formaction="javascript:window.ran=7">y</button></form>',
  '[link](javascript:window.ran=8) ![picture](http://203.0.113.9/b.png)',
].join('\n\n')
/** Hostile text for fields of one short line. */
const short = '<img src=x onerror="window.ran=9">'
const page = `<!doctype html>${markup}<link rel=stylesheet href="http://203.0.113.9/c.css">`
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=10">${markup}</svg>`
const fileName = '<img src=x onerror=window.ran=11>.html'

const skill = `import { skill } from '@flotilla/skill'
export default skill('looks_kind', ${JSON.stringify(short)}, {}, async () => 'kind')
`

const cassette = aCassette(
  {
    agents: ['scribe'],
    turns: [
      runs(`cat <<'END'\n${markup}\nEND\nprintf '%s' '<svg onload=window.ran=12>' > '${fileName}'`),
      calls('memory_save', { content: markup, key: 'port', category: 'server' }),
      calls('save_artifact', { name: 'page.html', content: page, description: short }),
      calls('save_artifact', { name: 'drawing.svg', content: drawing, description: short }),
      calls('create_skill', { name: 'looks_kind', code: skill }),
      says(markup),
    ],
  },
  {
    agent_kind: 'operator',
    when: '^remove doomed$',
    turns: [calls('delete_agent', { agent_id: 'doomed', reason: markup.slice(0, 400) }), says('It waits.')],
  },
  {
    agent_kind: 'operator',
    when: '^ask for a key$',
    turns: [
      calls('request_credential', { name: 'wiki', service: short, description: markup.slice(0, 400) }),
      says('I asked.'),
    ],
  },
  { turns: [says('Yes.')] },
)

describe.skipIf(!hasBrowser)('text of strangers, wherever it is shown', () => {
  let mesh: MeshProcess
  let browser: Browser
  let task = ''
  let run = ''
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startMesh({ cassettes: { hostile: cassette } }), openBrowser()])
    const good = async (endpoint: Parameters<MeshProcess['call']>[0], options: CallOptions) => {
      const reply = await mesh.call(endpoint, options)
      if (reply.status >= 300) throw new Error(`${endpoint.path}: ${reply.status} ${reply.text}`)
      return reply.json()
    }
    await mesh.createWorker('scribe', { role: markup.slice(0, 400) })
    await mesh.createWorker('doomed', { role: short })
    const all = ['*']
    await editPermissions(mesh, 'scribe', {
      can_publish: all,
      can_subscribe: all,
      blackboard_write: all,
      blackboard_read: all,
    })
    run = (await mesh.ask(`say it ${markup}`, { agent: 'scribe', session: 'dashboard' })).id
    await mesh.submit('remove doomed')
    await mesh.ask('ask for a key')
    const given = await good(taskHumanEndpoints.taskGive, {
      body: { to: 'doomed', title: short, description: markup },
    })
    task = (given['task'] as { id: string }).id
    const cron = { agent: 'scribe', schedule: '0 9 * * *', message: markup }
    await good(cronHumanEndpoints.cronCreate, { body: cron })
    await good(webhookEndpoints.webhookCreate, { body: { name: short, agent_id: 'scribe', signed: false } })
    const entry = { params: { key: 'output/words' }, body: { value: { [short]: markup } } }
    await good(blackboardHumanEndpoints.blackboardPut, entry)
    const params = { name: 'shelves' }
    await good(projectHumanEndpoints.projectManage, {
      params,
      body: { action: 'create', agents: ['scribe'] },
    })
    const goal = { text: markup, criteria: [short], expected_version: 0 }
    await good(projectHumanEndpoints.projectWrite, { params, body: goal })
    const section = { section: 'Customers', text: markup, expected_version: 0 }
    await good(projectHumanEndpoints.projectWrite, { params, body: section })
    await mesh.invoke('scribe', 'subscribe_topic', { topic: 'builds/main' })
    await mesh.invoke('scribe', 'publish_signal', { topic: 'builds/main', text: short })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('text of strangers would run as markup, or what follows proved nothing', async () => {
    const context = await browser.newContext()
    const bare = await context.newPage()
    bare.on('dialog', (dialog) => void dialog.dismiss())
    await bare.route(/203\.0\.113\.9/, (route) => route.abort())
    for (const text of [short, markup, page, drawing]) {
      await bare.setContent(text)
      await expect.poll(() => bare.evaluate<number>('window.ran ?? 0')).toBeGreaterThan(0)
    }
    await context.close()
  })

  it('hostile text runs no script, opens no page and sends no request, on any page', async () => {
    verifies('limits:dashboard-auto-escaping')
    const watched = await openPage(browser, mesh.url)
    const tabs = [
      'overview',
      'identity',
      'permissions',
      'memory',
      'tools',
      'schedule',
      'files',
      'runs',
      'logs',
    ]
    const shown: Readonly<Record<string, string>> = {
      '/chat/scribe': 'onerror=',
      '/fleet': 'onerror=',
      ...Object.fromEntries(tabs.map((tab) => [`/agents/scribe?tab=${tab}`, 'scribe'])),
      '/agents/scribe?tab=memory': 'onerror=',
      '/agents/scribe?tab=files': 'onerror=',
      '/agents/scribe?tab=schedule': 'onerror=',
      '/runs': 'onerror=',
      [`/runs/${run}`]: 'onerror=',
      '/work': 'onerror=',
      '/work?as=list': 'onerror=',
      [`/work/tasks/${task}`]: 'onerror=',
      '/work/artifacts?open=scribe%2Fpage.html': 'onerror=',
      '/work/artifacts?open=scribe%2Fdrawing.svg': 'onerror=',
      '/blackboard?key=output%2Fwords': 'onerror=',
      '/blackboard/topics?topic=builds%2Fmain': 'onerror=',
      '/approvals': 'onerror=',
      '/triggers': 'onerror=',
      '/journal': 'run.submitted',
      '/settings/integrations': 'onerror=',
      '/settings/credentials': 'onerror=',
      '/agents/scribe?tab=tools': 'onerror=',
      '/work/projects/shelves': 'onerror=',
      '/work/goals': 'onerror=',
    }
    for (const [path, shows] of Object.entries(shown)) {
      await watched.turnTo(path, shows)
      // Opens all folded parts, so that their content is checked too.
      await watched.page.evaluate(
        `for (const one of document.querySelectorAll('main details:not([open]) > summary')) one.click()`,
      )
      const made = await watched.page
        .locator('main')
        .locator(
          'script, iframe, object, embed, base, [onerror], [onload], [onfocus], [formaction], [srcdoc]',
        )
        .count()
      expect(made, path).toBe(0)
      const addresses = (selector: string) =>
        watched.page
          .locator(selector)
          .evaluateAll((found) =>
            found.flatMap((one) => ['href', 'src', 'action'].map((name) => one.getAttribute(name) ?? '')),
          )
      const links = await addresses('a, area')
      expect(
        links.filter((link) => /^(?:javascript|data|vbscript):/i.test(link.trim())),
        path,
      ).toEqual([])
      // An address may be a link that a person follows; displaying it sends no request.
      const fetched = await addresses('img, image, form, link, use, video, audio, source')
      expect(
        fetched.filter((address) => address.includes('203.0.113.9')),
        path,
      ).toEqual([])
      expect(await watched.page.evaluate('window.ran'), path).toBeUndefined()
    }
    expect(watched.faults).toEqual([])
    await watched.context.close()
  })
})
