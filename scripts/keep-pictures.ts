import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** Pictures for the documentation, by the names under which the browser tests take them. */
const kept = {
  'chat-light-wide': 'chat',
  'fleet-light-wide': 'fleet',
  'run-trace-light-wide': 'run-trace',
  'work-board-light-wide': 'work',
  'approvals-light-wide': 'approvals',
} as const
const pictureMaxBytes = 150 * 1024

/**
 * Copies the latest pictures of the browser tests into the documentation. First run `npx vitest run --project
 * browser tests/browser/pages.test.ts tests/browser/work.test.ts`, then `node scripts/keep-pictures.ts`.
 */
function keepPictures(root: string): string | null {
  const target = join(root, 'docs', 'images')
  mkdirSync(target, { recursive: true })
  for (const [taken, name] of Object.entries(kept)) {
    const source = join(root, 'reports', 'screenshots', `${taken}.png`)
    if (!existsSync(source)) return `${source} is not there: run the tests in a browser first`
    if (statSync(source).size > pictureMaxBytes) return `${source} is larger than ${pictureMaxBytes} bytes`
    copyFileSync(source, join(target, `${name}.png`))
  }
  return null
}

const fault = keepPictures(join(import.meta.dirname, '..'))
if (fault !== null) {
  process.stderr.write(`${fault}\n`)
  process.exitCode = 1
}
