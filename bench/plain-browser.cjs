'use strict'
// Runs in a browser's container: playwright-core as one uses it without a service, beside which ours is measured.
const { readFileSync } = require('node:fs')

const begun = performance.now()
const { server, password, page: address, many, profile } = JSON.parse(process.argv[2])

function statistics() {
  for (const place of ['/sys/fs/cgroup/memory/memory.stat', '/sys/fs/cgroup/memory.stat']) {
    try {
      return readFileSync(place, 'utf8')
    } catch {
      // Another version of control groups.
    }
  }
  return ''
}

async function main() {
  const before = statistics()
  const { chromium } = require('playwright-core')
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/lib/chromium/chromium',
    headless: true,
    chromiumSandbox: true,
    proxy: { server, username: 'browser', password },
    args: ['--disable-gpu', '--renderer-process-limit=4'],
  })
  const [page] = context.pages()
  await page.goto(address)
  await page.ariaSnapshotJSON({ mode: 'ai' })
  if ((await page.title()) !== 'A form') throw new Error(`another page came: ${await page.title()}`)
  const launchMs = performance.now() - begun
  const after = statistics()
  await page.goto(many)
  const asked = performance.now()
  await page.ariaSnapshotJSON({ mode: 'ai' })
  const snapshotMs = performance.now() - asked
  await context.close()
  process.stdout.write(`\n${JSON.stringify({ launchMs, snapshotMs, before, after })}\n`)
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  },
)
