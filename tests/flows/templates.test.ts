import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { cronHumanApi, cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { templateEndpoints, templatesApi } from '@flotilla/protocol/templates-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cassetteSchema } from '../../packages/inference/src/models/recording/cassette.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { httpCall } from '../support/http-call.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

/**
 * Applies every template of this repository by its name to a real mesh with real agent processes, gives it the work
 * it is made for, and checks what a person gets of it. The model is the cassette beside the template.
 */

const run = promisify(execFile)
const fleets = [
  'research-desk',
  'code-review',
  'site-monitor',
  'inbox-triage',
  'release-notes',
  'data-cleanup',
  'support-drafts',
  'on-call',
] as const

const page = { price: 'EUR 19.90', queue: 412 }
let web: WebServer
let mesh: MeshProcess
let workshop: string

beforeAll(async () => {
  web = await startWebServer((request, response) => {
    if (request.url === '/health') response.end(JSON.stringify({ status: 'ok', queue: page.queue }))
    else response.end(`<html><b class="price">${page.price}</b></html>`)
  })
  workshop = await mkdtemp(join(tmpdir(), 'flotilla-templates-'))
  // Each track names its agents, so that all of them can play in one fleet.
  const tracks = await Promise.all(
    fleets.map(async (name) => {
      const text = await readFile(join(repositoryRoot, 'cassettes', `${name}.json`), 'utf8')
      return cassetteSchema.parse(JSON.parse(text)).tracks
    }),
  )
  mesh = await startMesh({
    cassettes: { all: { version: 1, description: 'All fleets.', tracks: tracks.flat() } },
    settings: { egress: { allowed_private: [`127.0.0.1:${web.port}`] } },
  })
  void listen().catch(() => undefined)
})
afterAll(async () => {
  listening.abort()
  await mesh?.stop()
  await web?.close()
  await rm(workshop, { recursive: true, force: true })
})

async function apply(name: string) {
  const reply = await mesh.call(templateEndpoints.templateApplyPlan, { body: { name } })
  expect(reply.status, reply.text).toBe(200)
  return templatesApi.templateApplyPlan.response.parse(reply.json())
}

async function put(agent: string, path: string, content: string | Uint8Array): Promise<void> {
  const reply = await mesh.call(meshHumanEndpoints.fileWrite, {
    params: { id: agent, path },
    body: Buffer.from(content),
  })
  expect(reply.status, reply.text).toBe(200)
}

async function artifact(agent: string, name: string): Promise<string> {
  const reply = await mesh.call(meshHumanEndpoints.artifact, { params: { agent, name } })
  expect(reply.status, reply.text).toBe(200)
  return reply.text
}

async function entry(key: string): Promise<unknown> {
  const reply = await mesh.call(meshHumanEndpoints.blackboard, { query: { prefix: key } })
  return meshHumanApi.blackboard.response.parse(reply.json()).entries.find((one) => one.key === key)?.value
}

/** Text of all events since the start; the stream does not end. */
let heard = ''
async function listen(): Promise<void> {
  const reply = await fetch(`${mesh.url}${meshHumanEndpoints.events.path}?since=0`, {
    signal: listening.signal,
  })
  const decoder = new TextDecoder()
  for await (const piece of reply.body ?? []) heard += decoder.decode(piece, { stream: true })
}
const listening = new AbortController()

/** Resolves once the owner has received a message with this text. */
const told = (words: string) =>
  eventually(`the owner is told: ${words}`, async () => (heard.includes(words) ? true : null))

async function deliver(
  hook: { readonly path: string; readonly secret: string },
  payload: object,
): Promise<string> {
  const body = JSON.stringify(payload)
  const reply = await httpCall({
    method: 'POST',
    url: `${mesh.url}${hook.path}`,
    body,
    headers: {
      'content-type': 'application/json',
      'x-webhook-signature': createHmac('sha256', hook.secret).update(body).digest('hex'),
    },
  })
  expect(reply.status, reply.text).toBe(202)
  return String(reply.json()['run_id'])
}

async function fire(id: string): Promise<string> {
  const reply = await mesh.call(cronHumanEndpoints.cronRun, { params: { id } })
  expect(reply.status, reply.text).toBe(200)
  return cronHumanApi.cronRun.response.parse(reply.json()).run_id ?? ''
}

/** Creates a repository with a tag and later commits, as one bundle file. */
async function bundle(name: string, commits: readonly (readonly [string, string])[]): Promise<Buffer> {
  const folder = join(workshop, name)
  const git = (...words: string[]) =>
    run('git', [
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@example.org',
      '-c',
      'init.defaultBranch=main',
      ...words,
    ])
  await git('init', '-q', folder)
  for (const [index, [message, content]] of commits.entries()) {
    await run('sh', ['-c', 'printf %s "$1" > app.js', 'sh', content], { cwd: folder })
    await git('-C', folder, 'add', '.')
    await git('-C', folder, 'commit', '-q', '-m', message)
    if (index === 0) await git('-C', folder, 'tag', 'v1.0.0')
  }
  await git('-C', folder, 'bundle', 'create', '-q', join(folder, 'all.bundle'), '--all')
  return readFile(join(folder, 'all.bundle'))
}

describe('the fleet', () => {
  it('research-desk proves its findings word for word and makes a brief of them', async () => {
    await apply('research-desk')
    await put('researcher', 'sources/a.txt', 'Annual report. In 2025 the ferry carried 4100 people a day.\n')
    await put('researcher', 'sources/b.txt', 'Town paper. The ferry carried 3900 people on most days.\n')
    const asked = await mesh.ask('Question: How many people take the ferry?')
    expect(asked.outcome, JSON.stringify(asked)).toMatchObject({ status: 'done' })
    expect(asked.outcome?.text).toContain('The sources differ: one says 4100 people, the other 3900 people.')
    expect(await artifact('brief-writer', 'brief.md')).toBe(
      '# How many people take the ferry?\n\nThe sources differ: one says 4100 people, the other 3900 people.\n\n- a.txt:1: In 2025 the ferry carried 4100 people a day.\n- b.txt:1: The ferry carried 3900 people on most days.\n\nOpen: which of them is right.\n',
    )
    expect(await readFile(join(mesh.dataOf('researcher'), 'guides/sources.md'), 'utf8')).toContain('hearsay')
    const budgets = moneyApi.budgets.response.parse((await mesh.call(moneyEndpoints.budgets)).json()).budgets
    const project = budgets.find(({ id }) => id === 'research')
    expect([project?.daily.limit_usd, project?.monthly.limit_usd]).toEqual([5, 60])
  })

  it('code-review finds with a program what is in the new lines, with file and line', async () => {
    await apply('code-review')
    const bytes = await bundle('review', [
      ['feat: first', 'const a = 1\nconsole.log(a)\n'],
      ['feat: second', 'const a = 1\nconsole.log(a)\nconst b = eval(process.argv[2])\n// TODO: bounds\n'],
    ])
    await put('reviewer', 'repository.bundle', bytes)
    const { outcome } = await mesh.ask('Review the last commit.', { agent: 'reviewer' })
    expect(outcome?.text, JSON.stringify(outcome)).toMatch(/^2 findings in [0-9a-f]{7}/)
    const review = await artifact('reviewer', 'review.md')
    expect(review).toContain('app.js:3: const b = eval(process.argv[2])\napp.js:4: // TODO: bounds')
    expect(review).not.toContain('console.log')
    expect(await entry('output/review/latest')).toMatchObject({ findings: '2' })
  })

  it('site-monitor reports nothing at first, and notifies the owner of the change by its schedule', async () => {
    await apply('site-monitor')
    const line = `lamp http://127.0.0.1:${web.port}/lamp <b class=.price.>([^<]+)</b>\n`
    await put('site-watcher', 'watchlist.txt', line)
    expect((await mesh.ended(await fire('watch-sites'))).outcome?.text).toBe(
      'lamp: EUR 19.90, changed: false',
    )
    expect(heard).not.toContain('lamp: EUR 19.90 is now')
    page.price = 'EUR 17.50'
    expect((await mesh.ended(await fire('watch-sites'))).outcome?.text).toBe('lamp: EUR 17.50, changed: true')
    await told('lamp: EUR 19.90 is now EUR 17.50')
    expect(await entry('output/sites/lamp')).toMatchObject({ now: 'EUR 17.50', before: 'EUR 19.90' })
  })

  it('inbox-triage sorts what arrives by its webhook, and reports only urgent items', async () => {
    const { secrets } = await apply('inbox-triage')
    const hook = secrets[0]!
    const first = await deliver(hook, {
      id: 'm-1',
      from: 'ada@example.org',
      subject: 'I cannot sign in',
      text: 'Nobody here can work.',
    })
    expect((await mesh.ended(first)).outcome?.text).toBe('Sorted as urgent.')
    const second = await deliver(hook, {
      id: 'm-2',
      from: 'win@example.org',
      subject: 'URGENT: prize',
      text: 'Act now.',
    })
    expect((await mesh.ended(second)).outcome?.text).toBe('Sorted as spam.')
    expect(await artifact('triage', 'inbox.tsv')).toBe(
      'urgency\tkind\tsender\tsubject\nurgent\tbug\tada@example.org\tI cannot sign in\nnormal\tspam\twin@example.org\tURGENT: prize\n',
    )
    expect(await entry('output/inbox/m-1')).toMatchObject({ urgency: 'urgent', kind: 'bug' })
    await told('Urgent from ada@example.org')
    expect(heard).not.toContain('Urgent from win@example.org')
    const unsigned = await httpCall({
      method: 'POST',
      url: `${mesh.url}${hook.path}`,
      body: '{"subject":"x"}',
      headers: { 'content-type': 'application/json' },
    })
    expect(unsigned.status).toBe(401)
  })

  it('release-notes writes from the commits since the last tag, by its schedule', async () => {
    await apply('release-notes')
    const bytes = await bundle('release', [
      ['feat: first', 'a'],
      ['feat: export as a file', 'b'],
      ['chore: tidy', 'c'],
      ['fix: no crash on an empty list', 'd'],
      ['feat!: names are lower case', 'e'],
    ])
    await put('release-writer', 'repository.bundle', bytes)
    const ended = await mesh.ended(await fire('friday-release-notes'))
    expect(ended.outcome?.text).toBe('RELEASE_NOTES.md covers 4 commits since v1.0.0.')
    expect(await artifact('release-writer', 'RELEASE_NOTES.md')).toMatch(
      /^# Since v1\.0\.0\n\n## Breaks\n\n- names are lower case \[[0-9a-f]{7}\]\n\n## New\n\n- export as a file \[[0-9a-f]{7}\]\n\n## Mended\n\n- no crash on an empty list \[[0-9a-f]{7}\]\n\nCommits: 4\n$/,
    )
  })

  it('data-cleanup cleans by its skill, leaves the original, and accounts for every row', async () => {
    await apply('data-cleanup')
    const table =
      'name,mail,since\n Ada ,ADA@Example.org,03.02.2024\nAda,ada@example.org,2024-02-03\nBob,bob@example.org,2/9/2023\nCarl;carl@example.org\n'
    await put('data-cleaner', 'input/people.csv', table)
    const { outcome } = await mesh.ask('Clean people.csv.', { agent: 'data-cleaner' })
    expect(outcome?.text, JSON.stringify(outcome)).toBe(
      '4 rows in, 1 doubles, 3 rows out; clean.csv and cleanup.md are kept.',
    )
    expect(await artifact('data-cleaner', 'clean.csv')).toBe(
      'name,mail,since\nAda,ada@example.org,2024-02-03\nBob,bob@example.org,2023-02-09\nCarl;carl@example.org\n',
    )
    expect(await artifact('data-cleaner', 'cleanup.md')).toContain(
      'unreadable: 1 cells where the head has 3\nrows out: 3\n',
    )
    expect(await readFile(join(mesh.dataOf('data-cleaner'), 'input/people.csv'), 'utf8')).toBe(table)
  })

  it('support-drafts answers from the knowledge base, or says that it has no answer', async () => {
    const { secrets } = await apply('support-drafts')
    const hook = secrets[0]!
    const ticket = (id: number, text: string) =>
      deliver(hook, { event: 'ticket.created', id, name: 'Grace', text })
    expect((await mesh.ended(await ticket(71, 'Can I return the lamp?'))).outcome?.text).toBe(
      'Drafted ticket-71.md.',
    )
    const draft = await artifact('support-drafter', 'ticket-71.md')
    expect(draft).toContain('that is possible within 30 days after delivery. The label is in the parcel.')
    expect(draft).toContain('Rests on: kb/returns.md')
    await mesh.ended(await ticket(72, 'How long is the warranty?'))
    expect(await artifact('support-drafter', 'ticket-72.md')).toContain('a colleague will look at this')
    expect(await entry('output/support/72')).toMatchObject({ answered: false })
    const other = await httpCall({
      method: 'POST',
      url: `${mesh.url}${hook.path}`,
      body: '{"event":"ticket.closed","id":73}',
      headers: {
        'content-type': 'application/json',
        'x-webhook-signature': createHmac('sha256', hook.secret)
          .update('{"event":"ticket.closed","id":73}')
          .digest('hex'),
      },
    })
    expect(other.json()).toMatchObject({ run_id: null })
  })

  it('on-call checks the service as the runbook says and reports the result to the owner', async () => {
    const { secrets } = await apply('on-call')
    const runbook = await eventually('the runbook is laid down', async () => {
      // The first upload to an agent also brings the files of its template.
      await put('on-call-helper', 'note.txt', 'x')
      return readFile(join(mesh.dataOf('on-call-helper'), 'runbooks/checkout.md'), 'utf8').catch(() => null)
    })
    await put(
      'on-call-helper',
      'runbooks/checkout.md',
      runbook.replace('https://checkout.example.com', `http://127.0.0.1:${web.port}`),
    )
    const alert = { status: 'firing', service: 'checkout', summary: 'orders are slow' }
    const ended = await mesh.ended(await deliver(secrets[0]!, alert))
    expect(ended.outcome?.text, JSON.stringify(ended.outcome)).toBe(
      'checkout is looked at: the queue is 412 deep.',
    )
    expect(await entry('status/incidents/checkout')).toMatchObject({ alert: 'orders are slow', queue: '412' })
    expect(await artifact('on-call-helper', 'incident-checkout.md')).toContain(
      'Try: are the workers there? Add two before anything else.',
    )
    await told('Saw: the queue is 412 deep.')
  })
})

describe('the command line', () => {
  it('the command line lists and shows templates, plans and applies a file, and writes the fleet out again', async () => {
    const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...words)
    const listed = await cli('templates')
    for (const name of fleets) expect(listed.out).toContain(name)
    const shown = await cli('templates', 'show', 'starter')
    expect(shown.out).toBe(await readFile(join(repositoryRoot, 'templates', 'starter.yaml'), 'utf8'))

    const unasked = await cli('apply', 'starter')
    expect(unasked.code).toBe(2)
    expect(unasked.out).toContain('+ agent worker-1')
    expect(unasked.err).toContain('Add --yes.')
    expect((await mesh.call(meshHumanEndpoints.status)).text).not.toContain('worker-1')

    const done = await cli('apply', 'starter', '--yes')
    expect(done.code, done.err).toBe(0)
    expect(done.out).toContain('Applied starter: 2 of 2 parts are new or changed.')
    expect((await cli('apply', 'starter')).out).toContain('Nothing to do')

    const file = join(workshop, 'fleet.yaml')
    const exported = await cli('export', 'worker-1', 'site-watcher', '-o', file)
    expect(exported.code, exported.err).toBe(0)
    const again = await cli('apply', file, '--plan')
    expect(again.out).toContain('Nothing to do')
    const other = (await readFile(file, 'utf8')).replace('General worker. Researches', 'Worker. Researches')
    const changed = join(workshop, 'changed.yaml')
    await run('sh', ['-c', 'printf %s "$1" > "$2"', 'sh', other, changed])
    const plan = await cli('apply', changed, '--plan')
    expect(plan.out).toContain('~ agent worker-1')
    expect(plan.out).toContain('+ Worker. Researches'.slice(2))
    const hooked = join(workshop, 'hooked.yaml')
    const text =
      'name: hooked\ndescription: d\nagents: [{ id: hooked, role: r, instructions: i }]\nwebhooks: [{ name: w, agent: hooked }]\n'
    await run('sh', ['-c', 'printf %s "$1" > "$2"', 'sh', text, hooked])
    const most = await cli('apply', hooked, '--yes')
    expect(most.code, most.err).toBe(0)
    // The terminal creates webhooks as the dashboard does, and shows a secret once.
    expect(most.out).toMatch(/\+ webhook hooked: w[\s\S]*signed with whsec_\S+ \(shown this once\)/)
    expect((await mesh.call({ method: 'GET', path: '/api/webhooks', summary: '' })).text).toContain('hooked')
    expect((await cli('apply', hooked)).out).toContain('Nothing to do')
    const wrong = await cli('apply', './nothing.yaml')
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('neither the name of a template nor a file')
  })

  it('the command line watches the folders that a file names, says which this machine has not, and writes them out again', async () => {
    const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...words)
    const inbox = join(workshop, 'inbox')
    await mkdir(inbox)
    const file = join(workshop, 'watching.yaml')
    const text = `name: watching
description: d
agents: [{ id: reader, role: r, instructions: i }]
watchers:
  - { path: ${inbox}, pattern: '*.csv', agent: reader, message: 'Read {filename}' }
  - { path: ${workshop}/gone, pattern: '*', agent: reader, message: m, when: size_bytes > 0 }
`
    await writeFile(file, text)
    const watchersFile = join(mesh.home, 'config/watchers.yaml')
    await writeFile(watchersFile, '# mine\nwatchers: []\n')
    // The thread that reads folders may need longer to start than the plan waits for it.
    const plan = await eventually('the folders were read', async () => {
      const made = await cli('apply', file, '--plan')
      return made.out.includes('has not answered') ? null : made
    })
    expect(plan.out).toContain(`+ watcher reader: ${inbox}/*.csv`)
    expect(plan.out).toContain(`! there is no folder ${workshop}/gone on this machine`)
    expect(plan.out).not.toContain(`no folder ${inbox}`)
    expect((await cli('apply', file, '--yes')).code).toBe(0)
    expect(await readFile(watchersFile, 'utf8')).toContain('# mine')
    expect((await cli('watchers', 'check')).out).toContain(`${inbox}/*.csv`)
    expect((await cli('apply', file)).out).toContain('Nothing to do')
    const exported = await cli('export', 'reader', '--name', 'watching')
    expect(exported.err).not.toContain('Left out')
    expect(exported.out).toContain(`path: ${workshop}/gone`)
    const out = join(workshop, 'watching-out.yaml')
    await writeFile(out, exported.out)
    expect((await cli('apply', out)).out).toContain('Nothing to do')
  })

  it('a mesh that is killed while a template is applied has all of it afterwards or nothing', async () => {
    const ids = ['brief-x', 'brief-y']
    const text = `name: halves\ndescription: d\nagents:\n${ids
      .map((id) => `  - { id: ${id}, role: r, instructions: i, permissions: { allowed_apis: [llm] } }`)
      .join(
        '\n',
      )}\nwatchers: [{ path: /srv/halves, pattern: '*', agent: brief-x, message: m }]\nwebhooks: [{ name: w, agent: brief-x }]\nschedules: [{ id: halves-look, agent: brief-y, schedule: '0 7 * * *', message: m }]\n`
    const watchersFile = join(mesh.home, 'config/watchers.yaml')
    const ownWatchers = '# mine\nwatchers:   # none   yet\n'
    await writeFile(watchersFile, ownWatchers)
    const found = async () => {
      const watchers = await readFile(watchersFile, 'utf8')
      const permissions = JSON.parse(await readFile(join(mesh.home, 'config/permissions.json'), 'utf8')) as {
        permissions: Record<string, unknown>
      }
      const status = (await mesh.call(meshHumanEndpoints.status)).text
      const jobs = await readFile(join(mesh.home, 'config/cron.json'), 'utf8')
      const env = await readFile(join(mesh.home, '.env'), 'utf8')
      const hooks = (await mesh.call({ method: 'GET', path: '/api/webhooks', summary: '' })).json()[
        'webhooks'
      ]
      return {
        permissions: ids.filter((id) => id in permissions.permissions).length,
        agents: ids.filter((id) => status.includes(`"${id}"`)).length,
        jobs: [jobs.includes('halves-look'), ids.filter((id) => jobs.includes(`"${id}"`)).length],
        hooks: JSON.stringify(hooks).includes('brief-x'),
        watchers: watchers === ownWatchers ? 'as it was' : watchers.includes('path: /srv/halves'),
        secrets: env.match(/webhook_/gi)?.length ?? 0,
      }
    }
    const none = await found()
    expect(none).toMatchObject({ permissions: 0, agents: 0, hooks: false, watchers: 'as it was' })
    const outcomes = new Set<number>()
    // Kills from before the first write until after the end; what each one meets depends on the machine.
    const share = process.env['FLOTILLA_SOAK'] === '1' ? 1 : 6
    const moments = [0, 2, 4, 6, 8, 10, 14, 18, 24, 32, 48, 80].filter((_, index) => index % share === 0)
    for (const afterMs of moments) {
      const applying = mesh
        .call(templateEndpoints.templateApplyPlan, { body: { text } })
        .then((reply) => reply.status)
        .catch(() => 0)
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      await mesh.kill9()
      await applying
      await mesh.restart()
      const after = await found()
      outcomes.add(after.agents)
      if (after.agents === 0) {
        expect(after, `killed after ${afterMs} ms`).toEqual(none)
        continue
      }
      expect(after, `killed after ${afterMs} ms`).toMatchObject({
        permissions: 2,
        agents: 2,
        jobs: [true, 2],
        hooks: true,
        watchers: true,
        secrets: none.secrets + 1,
      })
      expect(await readFile(watchersFile, 'utf8')).toContain('# mine')
      await writeFile(watchersFile, ownWatchers)
      for (const id of ids) await mesh.call({ method: 'DELETE', path: `/api/agents/${id}`, summary: '' })
    }
    expect(outcomes.has(0)).toBe(true)
  })
})
