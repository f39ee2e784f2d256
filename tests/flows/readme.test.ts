import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { httpCall } from '../support/http-call.ts'
import { repositoryRoot } from '../support/mesh-process.ts'
import { startPageReader } from '../support/page-reader.ts'
import type { PageReader } from '../support/page-reader.ts'
import { readmeSteps } from '../support/readme-steps.ts'
import { patient } from '../support/patience.ts'

/** How a command of the README is given: what is typed into it. One that is not here fails the test. */
const typed: Readonly<Record<string, string>> = {
  'npx flotilla start -d': '',
  'npx flotilla apply starter --yes': '',
  'npx flotilla templates': '',
  'npx flotilla templates show site-monitor': '',
  'npx flotilla apply research-desk --plan': '',
  'npx flotilla export worker-1 -o fleet.yaml': '',
  'npx flotilla replay RUN --record': '',
  'npx flotilla replay RUN': '',
  'npx flotilla fork RUN --model openai/gpt-5-mini --step 1': '',
  'npx flotilla eval cases.yaml': '',
  'npx flotilla chat': 'Hello\n/quit\n',
  'npx flotilla status': '',
  'npx flotilla budget fleet --daily 50': '',
  'npx flotilla credentials set github_token --host api.github.com': 'a value of this test\n',
  'npx flotilla permissions set worker-1 allowed_credentials+=github_token': '',
  'npx flotilla costs': '',
  'flotilla costs': '',
  'npx flotilla pending': '',
  'npx flotilla permissions explain operator message-agent worker-1': '',
  'npx flotilla doctor': '',
  'flotilla doctor': '',
  'npx flotilla stop': '',
  'npx flotilla --help': '',
  'npx flotilla <command> --help': '',
  'npx flotilla record hello.json "Say hello"': '',
  'flotilla models': '',
  'flotilla people add ann --role member --agents scout': '',
  'npx flotilla restart worker-1': '',
  'npx flotilla create auditor "Reads contracts."': '',
  'npx flotilla hibernate auditor': '',
  'npx flotilla archive auditor': '',
  'npx flotilla unarchive auditor': '',
  'npx flotilla restart auditor': '',
  'npx flotilla trace RUN': '',
  'npx flotilla backup /srv/backups/monday --passphrase-file ~/.backup-passphrase': '',
  'npx flotilla cron add worker-1 "0 9 * * MON-FRI" --message "Sum up the news of the night"': '',
  'npx flotilla cron why JOB': '',
  'npx flotilla heartbeat worker-1 --every 2h': '',
  'npx flotilla watchers check': '',
  'npx flotilla pause --reason "holidays"': '',
  'npx flotilla resume': '',
  'flotilla webhooks --help': '',
  'flotilla webhooks deliveries HOOK': '',
}

let reader: PageReader
beforeAll(async () => {
  reader = await startPageReader({
    typed,
    filled,
    look: (line, { out }, { upstream }) => {
      if (line === 'npx flotilla chat' && upstream.calls.length > 0) expect(out).toContain('Hello there')
    },
  })
})
afterAll(() => reader.close())

it('npx finds the program where the README is read', async () => {
  expect(await reader.run('npx flotilla version')).toMatchObject({ code: 0 })
})

it(
  'every command of the README does what it says on a clean home, in the order of the page, and doctor finds nothing at its end',
  async () => {
    for (const step of readmeSteps(await readFile(join(repositoryRoot, 'README.md'), 'utf8')))
      await reader.take(step)
    expect([...reader.met].toSorted(), 'a command that the README no longer has').toEqual(
      Object.keys(typed).toSorted(),
    )

    const { run } = reader
    await run('npx flotilla stop')
    await run('npx flotilla start -d')
    const status = JSON.parse((await run('npx flotilla status --json')).out) as Record<string, unknown>
    expect(status['default_model']).toEqual({
      name: 'openai/gpt-5-mini',
      from: 'FLOTILLA_DEFAULT_MODEL in .env',
    })
    expect(await run('npx flotilla chat operator "Hello"')).toMatchObject({ code: 0, out: 'Hello there\n' })
    const doctor = await run('npx flotilla doctor --json')
    const { findings } = JSON.parse(doctor.out) as { findings: { id: string; level: string }[] }
    expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  },
  patient(300_000),
)

/** Placeholders are what the command before told, or what the reader has made where the page sends there. */
async function filled(line: string, before: string, { folder }: PageReader): Promise<string> {
  if (line.includes('cron add')) return `${line} --json`
  if (line.includes('JOB')) return line.replace('JOB', (JSON.parse(before) as { id: string }).id)
  if (line.includes('RUN')) return line.replace('RUN', await endedRun())
  if (line.includes('backup')) return backUpHere(line, folder)
  if (line.includes('cases.yaml')) await writeFile(join(folder, 'cases.yaml'), cases)
  return line.includes('HOOK') ? line.replace('HOOK', await madeHook()) : line
}

/** Where the reader has a disk for backups and a passphrase, this test has its folder. */
async function backUpHere(line: string, folder: string): Promise<string> {
  const passphrase = join(folder, '.backup-passphrase')
  await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 })
  return line.replace('/srv/backups/', `${folder}/`).replace('~/.backup-passphrase', passphrase)
}

/** As `flotilla eval --help` tells the reader to write them. */
const cases =
  'name: greets\nagent: worker-1\ncases: [{ name: hello, ask: Say hello, checks: [{ contains: Hello }] }]\n'

/** One that a model answered: the conversation that the page has recorded. */
async function endedRun(): Promise<string> {
  const { runs } = JSON.parse((await reader.run('npx flotilla runs --json')).out) as {
    runs: { id: string; kind: string; state: string; input: { message?: string } }[]
  }
  const found = runs.find((one) => one.state === 'done' && one.input.message === 'Say hello')
  expect(found).toBeDefined()
  return found?.id ?? ''
}

async function madeHook(): Promise<string> {
  const { method, path } = webhookEndpoints.webhookCreate
  const reply = await httpCall({
    method,
    url: `http://127.0.0.1:${reader.port}${path}`,
    headers: { 'content-type': 'application/json', 'x-requested-with': 'curl' },
    body: JSON.stringify({ name: 'deploys', agent_id: 'worker-1' }),
  })
  const id = /"(hook_[a-z0-9]+)"/.exec(reply.text)?.[1]
  expect(id, reply.text).toBeDefined()
  return id ?? ''
}
