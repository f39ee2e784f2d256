import { join } from 'node:path'
import type { FileStamp, ProgramRecord } from '@flotilla/protocol/built-program'
import { build } from 'vite'
import type { Rolldown } from 'vite'
import { existing, recordBuild } from './build-program.ts'
import type { Build } from './build-program.ts'

/**
 * Compiles the pages into files named by their content hash, and then writes the record with which the mesh serves
 * them from its next start. Rejects with the errors of the bundler.
 */
export async function buildDashboard(root: string): Promise<ProgramRecord> {
  return recordBuild(root, await compileDashboard(root))
}

/** Builds the same files in memory. */
export async function compileDashboard(root: string): Promise<Build> {
  const folder = join(root, 'packages', 'dashboard')
  const protocol = join(root, 'packages', 'protocol', 'src')
  const inputs = new Map<string, FileStamp>()
  const begins = [join(root, 'package-lock.json'), import.meta.filename, join(folder, 'index.html')]
  for (const file of begins) inputs.set(file, existing(file))
  // React is built in production mode, whatever `NODE_ENV` the caller has.
  process.env['NODE_ENV'] = 'production'
  const built = await build({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    mode: 'production',
    build: {
      write: false,
      target: 'es2024',
      // The content security policy of the pages forbids inlined assets.
      assetsInlineLimit: 0,
      // Browsers with module support preload by themselves.
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
    plugins: [
      {
        name: 'read-sources',
        enforce: 'pre',
        // The first read counts: a source that changes from then on makes the build outdated.
        load: (id) => {
          const [file = ''] = id.split('?')
          if (file.startsWith(join(root, 'packages')) && !inputs.has(file)) inputs.set(file, existing(file))
          return null
        },
      },
      {
        name: 'omit-unread-facts',
        enforce: 'pre',
        transform: (code, id) =>
          id.startsWith(protocol) ? { code: withoutStatuses(withoutSummaries(code)), map: null } : undefined,
      },
    ],
  })
  const [output] = (Array.isArray(built) ? built : [built]) as Rolldown.RolldownOutput[]
  if (!output) throw new Error('the dashboard was built into nothing')
  const files = output.output.map((file) => ({
    name: file.fileName,
    contents: Buffer.from(file.type === 'chunk' ? file.code : file.source),
  }))
  return { name: 'dashboard', main: 'index.html', files, inputs }
}

/**
 * Removes the summaries of endpoints from a source of the protocol: only the generated reference shows them, and they
 * would be 3.5 KB, compressed, of what the pages load first. Pure.
 */
export function withoutSummaries(code: string): string {
  return code.replaceAll(
    /(\bpath:\s*'[^'\n]*',\s*)summary:\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")\s*,?/g,
    '$1',
  )
}

/**
 * Removes from the problems of the protocol what only the mesh reads: the status of the reply, and whether the call may
 * be repeated. Pages read a problem's title and repair. Pure.
 */
export function withoutStatuses(code: string): string {
  return code.replaceAll(
    /\bstatus:\s*\d{3},(\s*title:\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"),)\s*retryable:\s*(?:true|false),/g,
    '$1',
  )
}
