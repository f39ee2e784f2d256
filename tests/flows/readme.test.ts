import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { repositoryRoot } from '../support/mesh-process.ts'
import { startPageReader } from '../support/page-reader.ts'
import type { CommandEnded, PageReader } from '../support/page-reader.ts'
import { readmeSteps } from '../support/readme-steps.ts'
import { patient } from '../support/patience.ts'

/** What is typed into each command of the README. A command that is not listed fails the test. */
const typed: Readonly<Record<string, string>> = {
  'npx flotilla init': 'sk-of-this-test\n',
  'npx flotilla chat': 'Hello\n/quit\n',
  'npx flotilla open': '',
  'npx flotilla agent add scout --role "Finds things out."': '',
  'npx flotilla apply starter --yes': '',
  'npx flotilla status': '',
  'npx flotilla budget fleet --daily 50': '',
  'npx flotilla credentials set github_token --host api.github.com': 'a value of this test\n',
  'npx flotilla permissions set worker-1 allowed_credentials+=github_token': '',
  'npx flotilla permissions explain operator message-agent worker-1': '',
  'npx flotilla cron add worker-1 "0 9 * * MON-FRI" --message "Sum up the news of the night"': '',
  'npx flotilla pending': '',
  'npx flotilla costs': '',
  'npx flotilla trace RUN': '',
  'npx flotilla doctor': '',
  'npx flotilla stop': '',
  'npx flotilla --help': '',
}

let reader: PageReader
beforeAll(async () => {
  reader = await startPageReader({ typed, filled, look })
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
      from: 'default_model in config/settings.json',
    })
    expect(await run('npx flotilla chat operator "Hello"')).toMatchObject({ code: 0, out: 'Hello there\n' })
    const doctor = await run('npx flotilla doctor --json')
    const { findings } = JSON.parse(doctor.out) as { findings: { id: string; level: string }[] }
    expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  },
  patient(300_000),
)

/** Checks that the model of the first lines gave the answer. */
function look(line: string, { out }: CommandEnded): void {
  if (line === 'npx flotilla chat') expect(out).toContain('Hello there')
}

/** Without a terminal, options give what `init` would ask for. */
async function filled(line: string, _before: string, { upstream }: PageReader): Promise<string> {
  if (line === 'npx flotilla init')
    return `${line} --provider openai --model gpt-5-mini --base-url ${upstream.baseUrl}`
  if (line.includes('RUN')) return line.replace('RUN', await endedRun())
  return line
}

/** Returns a run that a model answered: the conversation at the beginning of the page. */
async function endedRun(): Promise<string> {
  const { runs } = JSON.parse((await reader.run('npx flotilla runs --json')).out) as {
    runs: { id: string; state: string; input: { message?: string } }[]
  }
  const found = runs.find(({ state, input }) => state === 'done' && input.message === 'Hello')
  expect(found).toBeDefined()
  return found?.id ?? ''
}
