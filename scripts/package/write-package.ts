import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { packageFolder } from '@flotilla/protocol/built-program'
import { packedFolder, packedLock } from '../../packages/cli/src/demo/demo-project.ts'
import { browserProgram } from '../../packages/fleet/src/sandbox/image/browser-image.ts'
import { bundleAgent } from '../../packages/fleet/src/sandbox/image/bundle-agent.ts'
import { compileDashboard } from '../built-programs/build-dashboard.ts'
import { bundleProgram, writtenTexts } from '../built-programs/build-program.ts'
import type { Places } from '../built-programs/read-sources.ts'

/** Worker threads of the mesh, which are files of their own. */
const workers = [
  'packages/foundation/src/lease/end-worker.ts',
  'packages/egress/src/skills/check-worker.ts',
  'packages/inbound/src/triggers/watch/scan-worker.ts',
  'packages/identity/src/policy/policy-worker.ts',
]
const licenceMaxBytes = 128 * 1024

/**
 * Writes what `npm pack` packs besides recipes, templates and cassettes: the bundled programs without references to
 * this checkout, the pages, the agent, its browser, its vector search, the files that the demo reads, and the
 * manual page. `root` is the root of the checkout.
 */
export async function writePackage(root: string): Promise<void> {
  const folder = join(root, packageFolder)
  rmSync(folder, { recursive: true, force: true })
  const put = (name: string, contents: Uint8Array | string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), contents)
  }
  for (const name of ['cli', 'mesh']) {
    const entry = join(root, 'packages', name, 'src', 'main.ts')
    for (const file of await bundled(root, entry)) put(`${name}/${basename(file.path)}`, file.contents)
  }
  for (const { name, contents } of await writtenTexts()) put(`cli/${name}`, contents)
  for (const worker of workers) {
    for (const file of await bundled(root, join(root, worker)))
      put(`workers/${basename(file.path)}`, file.contents)
  }
  for (const { name, contents } of (await compileDashboard(root)).files) put(`dashboard/${name}`, contents)
  await putAgent(root, put)
  const browserEntry = join(root, 'packages', 'browser', 'src', 'main.ts')
  put('browser/browser.cjs', await browserProgram(browserEntry))
  putScreens(root, put)
  putDemoProject(root, put)
  put('man/flotilla.1', await manual(root))
}

type Put = (name: string, contents: Uint8Array | string) => void

/** Bundles a program that finds its files relative to its own path, since the package may be installed anywhere. */
function bundled(root: string, entry: string): ReturnType<typeof bundleProgram> {
  const inside = (path: string) => JSON.stringify(relative(root, path))
  const places: Places = {
    path: (path) => `(rootOfPackage + ${inside(path)})`,
    url: (path) => `(urlOfPackage + ${inside(path)})`,
    rewrite: (source) =>
      source.replaceAll(
        /new URL\('(?:\.\/)?([\w-]+-worker)\.ts', import\.meta\.url\)/g,
        `new URL('${packageFolder}/workers/$1.mjs', urlOfPackage)`,
      ),
  }
  const banner =
    " import { fileURLToPath as pathOfUrl } from 'node:url'; const urlOfPackage = new URL('../../../', import.meta.url).href; const rootOfPackage = pathOfUrl(urlOfPackage);"
  return bundleProgram(root, entry, { places, banner })
}

async function putAgent(root: string, put: Put): Promise<void> {
  const { files } = await bundleAgent({
    entry: join(root, 'packages', 'agent', 'src', 'main.ts'),
    cacheDirectory: join(tmpdir(), `flotilla-pack-${process.pid}`),
  })
  for (const { name, path } of files) put(`agent/${name}`, readFileSync(path))
  rmSync(join(tmpdir(), `flotilla-pack-${process.pid}`), { recursive: true, force: true })
  const find = createRequire(join(root, 'packages', 'agent', 'package.json'))
  const vectors = readFileSync(find.resolve(`sqlite-vec-linux-${process.arch}/vec0.so`))
  put(`vectors-${process.arch}/vec0.so`, vectors)
  // Agents that are plain processes look for it beside their own program.
  put('agent/parts/vec0.so', vectors)
}

/** Adds the library that draws a browser's screen in a page, with its licence. */
function putScreens(root: string, put: Put): void {
  const home = join(root, 'node_modules', '@novnc', 'novnc')
  for (const folder of ['core', 'vendor']) {
    for (const file of readdirSync(join(home, folder), { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name)
      if (file.isFile()) put(`novnc/${relative(home, path)}`, readFileSync(path))
    }
  }
  put('novnc/LICENSE.txt', readFileSync(join(home, 'LICENSE.txt')))
}

/** Adds the lock file, and the licence statement of each package that it names. */
function putDemoProject(root: string, put: Put): void {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  put(packedLock, lock)
  const { packages } = JSON.parse(lock) as { packages: Record<string, unknown> }
  for (const key of Object.keys(packages).filter((name) => name.includes('node_modules/'))) {
    for (const name of licenceNames(join(root, key)))
      put(`${packedFolder(key)}/${name}`, readFileSync(join(root, key, name)))
  }
}

function licenceNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => {
      if (!/^(?:licen[cs]e|copying|notice|package\.json$)/i.test(name)) return false
      const file = statSync(join(folder, name))
      return file.isFile() && file.size <= licenceMaxBytes
    })
  } catch {
    return []
  }
}

async function manual(root: string): Promise<string> {
  const { manPage } = await import('../../packages/cli/src/reference/man-page.ts')
  const { wholeProgram } = await import('../built-programs/whole-program.ts')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return manPage(await wholeProgram(), version)
}
