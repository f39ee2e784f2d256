import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { startFakeTelegram } from '../../packages/testing/src/fake-telegram.ts'
import { checkSkill } from '../../packages/egress/src/skills/check-skill.ts'
import { fakeWhatsApp, startFakeGraph } from '../../packages/testing/src/fake-whatsapp.ts'
import { discordToken, startDiscordServer } from '../support/discord-server.ts'
import { repositoryRoot } from '../support/mesh-process.ts'
import { startPageReader } from '../support/page-reader.ts'
import type { CommandEnded, PageReader } from '../support/page-reader.ts'
import { patient } from '../support/patience.ts'
import { readmeSteps } from '../support/readme-steps.ts'
import { slackTokens, startSlackWorkspace } from '../support/slack-workspace.ts'

const guide = join(repositoryRoot, 'docs', 'guide')

const initLine =
  'flotilla init --provider openai --agent scout --role "Finds things out and says them briefly."'
const usualAddress = 'https://api.openai.com/v1'
const backLine = `flotilla init --provider openai --base-url ${usualAddress}`
/** What is typed into commands that ask; other commands get no input. */
const typed: Readonly<Record<string, string>> = {
  [initLine]: 'sk-of-this-test\n',
  [backLine]: 'sk-another-of-this-test\n',
  'flotilla channels add telegram': '777:a-token-of-this-test\n',
  'flotilla channels add discord': `${discordToken}\n`,
  'flotilla channels add slack': `${slackTokens.bot}\n${slackTokens.app}\n`,
  'flotilla channels add whatsapp': `EAA-of-this-test\n${fakeWhatsApp.phoneNumberId}\n${'ab'.repeat(16)}\n`,
  'flotilla credentials set github_token --host api.github.com': 'a value of this test\n',
  'flotilla credentials set github --host github.com --as git --as env:GH_TOKEN': 'a key of this test\n',
}
/** Shapes of commands in the prose of pages, with placeholders in capitals. */
const shapes =
  /^flotilla (?:init|stop|cancel RUN|chat|chat scout|logs -f scout|start -d|tasks answer TASK WORDS|permissions explain AGENT ACTION RESOURCE|confirm APPROVAL|cancel APPROVAL|policy test FILE|start --isolation gvisor|start --sandbox|restart AGENT|image rebuild AGENT|upgrade --from FILE|prune|prune --lost TAG|wallet (?:speed-up|cancel) PAYMENT)$/
/** Blocks that another test runs. */
const triedElsewhere: Readonly<Record<string, string>> = {
  nginx: 'tests/flows/reverse-proxies.test.ts',
  caddyfile: 'tests/flows/reverse-proxies.test.ts',
}

let reader: PageReader
let platforms: readonly { readonly close: () => Promise<void> }[] = []
/** Ids that commands of the pages printed, for later commands that name them. */
const ids = { hook: '', secret: '', delivery: '' }

beforeAll(async () => {
  reader = await startPageReader({
    typed: new Proxy(typed, { get: (known, line) => (line in known ? Reflect.get(known, line) : '') }),
    filled,
    block,
  })
  // The home does not exist yet: `init` keeps what it finds there.
  const [telegram, discord, slack, graph] = await Promise.all([
    startFakeTelegram(),
    startDiscordServer(),
    startSlackWorkspace(),
    startFakeGraph(),
  ])
  platforms = [telegram, discord, slack, graph]
  const channels = {
    telegram: { api_url: telegram.root },
    discord: { api_url: discord.api },
    slack: { api_url: slack.apiUrl },
    whatsapp: { api_url: graph.root },
  }
  await reader.take({ kind: 'settings', text: JSON.stringify({ channels }) })
  await chmod(join(reader.folder, '.flotilla'), 0o700)
})
afterAll(async () => {
  await reader.close()
  await Promise.all(platforms.map(({ close }) => close()))
})

/** The fields of list rows that pages refer to. */
const rowSchema = z.looseObject({
  id: z.string().default('none'),
  state: z.string().optional(),
  kind: z.string().optional(),
  agent_id: z.string().optional(),
  undo_token: z.string().nullish(),
  delivery: z.number().optional(),
})

async function rows(command: string): Promise<readonly z.infer<typeof rowSchema>[]> {
  const { out, code } = await reader.run(`flotilla ${command} --json`)
  expect(code, command).toBe(0)
  const list = Object.values(z.record(z.string(), z.unknown()).parse(JSON.parse(out))).find((part) =>
    Array.isArray(part),
  )
  return z.array(rowSchema).parse(list)
}

/** Fills placeholders with what the reader has created before, on this page or an earlier one. */
async function filled(line: string): Promise<string> {
  if (shapes.test(line)) return 'true'
  if (line === initLine) return `${line} --model gpt-5-mini --base-url ${reader.upstream.baseUrl}`
  if (line === backLine) return `${line.replace(usualAddress, reader.upstream.baseUrl)} --model gpt-5-mini`
  const own = line.replaceAll('/srv/', `${reader.folder}/`).replace('~/', `${reader.folder}/`)
  if (/\bTOKEN\b/.test(line)) {
    const undoable = (await rows('changes')).find(({ undo_token: token }) => typeof token === 'string')
    return own.replace('TOKEN', undoable?.undo_token ?? 'none')
  }
  if (line.includes('JOB')) {
    // The list also contains the disabled heartbeat of scout.
    const job = (await rows('cron list scout')).find(({ heartbeat }) => heartbeat !== true)
    return own.replace('JOB', job?.id ?? 'none')
  }
  if (line.includes('RUN')) return own.replace('RUN', await answeredRun())
  if (line.includes('TASK')) return own.replace('TASK', await endedTask())
  if (line.includes('DELIVERY')) {
    const [delivery] = await rows(`webhooks deliveries ${await madeHook()}`)
    return own.replace('HOOK', ids.hook).replace('DELIVERY', `${delivery?.delivery}`)
  }
  return line.includes('HOOK') ? own.replace('HOOK', await madeHook()) : own
}

/** The webhook that the page has made. */
async function madeHook(): Promise<string> {
  if (ids.hook === '') ids.hook = (await rows('webhooks list'))[0]?.id ?? 'none'
  return ids.hook
}

async function answeredRun(): Promise<string> {
  const found = (await rows('runs')).find(
    ({ state, kind, agent_id: agent }) => state === 'done' && kind === 'chat' && agent === 'scout',
  )
  return found?.id ?? 'none'
}

/** Each check starts a program. */
const pollEveryMs = 500

/** A task from the page before, which ends with the answer of this test's model. */
async function endedTask(): Promise<string> {
  for (;;) {
    const [task] = await rows('tasks --agent scout')
    if (['done', 'failed', 'blocked'].includes(task?.state ?? '')) return task?.id ?? 'none'
    await sleep(pollEveryMs)
  }
}

async function block(language: string, text: string): Promise<void> {
  if (language === 'bash') return script(text)
  if (language === 'yaml') return file(text)
  if (language === 'ts') return skillSource(text)
  if (language === 'markdown') return writeFile(join(reader.folder, 'SKILL.md'), text)
  const test = triedElsewhere[language]
  expect(test, `a block in ${language}, which nobody tries`).toBeDefined()
  expect(await readFile(join(repositoryRoot, test ?? ''), 'utf8')).toContain(`'${language}'`)
}

/** The program on the page about skills, which the mesh must accept. */
async function skillSource(text: string): Promise<void> {
  expect(checkSkill(text)).toMatchObject({ ok: true })
  await writeFile(join(reader.folder, 'word-count.ts'), text)
}

/** Runs several lines of a block together, unchanged except for the port. */
async function script(text: string): Promise<void> {
  if (ids.secret === '') {
    const { out } = await reader.run(`flotilla webhooks rotate ${await madeHook()} --overlap-hours 0 --json`)
    ids.secret = (JSON.parse(out) as { secret: string }).secret
  }
  const ended: CommandEnded = await reader.run(text.replaceAll(':8420', `:${reader.port}`), '', {
    HOOK: ids.hook,
    SECRET: ids.secret,
  })
  expect(ended, text).toMatchObject({ code: 0 })
  expect(JSON.parse(ended.out)).toMatchObject({ status: 'accepted' })
}

/** Writes a file where the page says, with folders of this test. */
async function file(text: string): Promise<void> {
  const owned = { 'watchers:': 'watchers.yaml', 'rules:': 'policy.yaml' }
  const [, name] = Object.entries(owned).find(([start]) => text.startsWith(start)) ?? []
  const place = name === undefined ? 'cases.yaml' : join('.flotilla', 'config', name)
  await mkdir(join(reader.folder, 'invoices'), { recursive: true })
  await writeFile(join(reader.folder, place), text.replaceAll('/srv/', `${reader.folder}/`))
}

describe('the guide', () => {
  it(
    'the guide does what it says, page after page, on a clean home',
    async () => {
      await writeFile(join(reader.folder, '.backup-passphrase'), 'correct horse battery staple\n', {
        mode: 0o600,
      })
      await mkdir(join(reader.folder, 'backups'), { recursive: true })
      const index = await readFile(join(guide, 'README.md'), 'utf8')
      const pages = [...index.matchAll(/^\d+\. \[[^\]]+\]\((?<page>[a-z-]+\.md)\)/gm)].map(
        ({ groups }) => groups?.['page'] ?? '',
      )
      expect(pages.toSorted()).toEqual(
        (await readdir(guide)).filter((name) => name !== 'README.md').toSorted(),
      )
      for (const page of pages) {
        for (const step of readmeSteps(await readFile(join(guide, page), 'utf8'))) await reader.take(step)
      }
    },
    patient(400_000),
  )

  it('the guide leads nowhere that is not there', async () => {
    for (const page of await readdir(guide)) {
      const links = [...(await readFile(join(guide, page), 'utf8')).matchAll(/\]\((?<to>[^)#:]+)\)/g)]
      for (const { groups } of links) {
        await expect(readFile(join(guide, groups?.['to'] ?? ''), 'utf8'), page).resolves.not.toBe('')
      }
    }
  })
})
