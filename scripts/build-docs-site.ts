import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sitePages } from './site-pages.ts'

/**
 * `npm run docs:site`: builds the documentation site from docs/ and the pages in the root into dist/docs-site. The
 * packages of the site are installed on first use, so that nothing else in the repository pays for them.
 */
const root = join(import.meta.dirname, '..')
const site = join(root, 'site')
const out = join(root, 'dist', 'docs-site')
const env = { ...process.env, NODE_ENV: 'production', ASTRO_TELEMETRY_DISABLED: '1', DOCS_SITE_OUT: out }

installPackages()
run(process.execPath, ['parse-diagrams.mjs'])
writeContent()
run(process.execPath, [join(site, 'node_modules', 'astro', 'bin', 'astro.mjs'), 'build'])
console.log(`The documentation site is in ${out}.`)

function installPackages(): void {
  const stamp = join(site, 'node_modules', '.installed')
  const lock = createHash('sha256')
    .update(readFileSync(join(site, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'])
  writeFileSync(stamp, lock)
}

function writeContent(): void {
  const content = join(site, 'src', 'content', 'docs')
  const assets = join(site, 'public')
  for (const folder of [content, assets]) rmSync(folder, { recursive: true, force: true })
  const sources = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...globSync('docs/**/*.md', { cwd: root }),
  ]
  const files = new Map(sources.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  for (const { path, text } of sitePages(files)) {
    mkdirSync(dirname(join(content, path)), { recursive: true })
    writeFileSync(join(content, path), text)
  }
  cpSync(join(root, 'docs', 'images'), join(assets, 'images'), { recursive: true })
  cpSync(join(root, 'packages', 'dashboard', 'src', 'icon.svg'), join(assets, 'icon.svg'))
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd: site, env, stdio: 'inherit' })
  if (status === 0) return
  console.error(`\nfailed to build the documentation site: ${command} ${args.join(' ')} ended with ${status}`)
  process.exit(1)
}
