import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import { sandboxHardening } from '../sandbox-spec.ts'
import { tarDirectory } from '../tar-archive.ts'
import type { TarEntry } from '../tar-archive.ts'

/** The parts of the installed npm package that the mesh image contains, relative to the package's root. */
const packageParts = ['dist/package', 'images/agent', 'templates', 'cassettes', 'package.json'] as const
const place = '/usr/local/lib/flotilla'
const program = [...programNodeFlags, `${place}/dist/package/mesh/main.mjs`]

/**
 * Returns the recipe of the mesh image: the npm package on the layers of the agent image, which every node has
 * anyway, without the agent's own files. The home is below the folder at which a volume is mounted; elsewhere the
 * mesh writes only to /tmp. Pure.
 */
export function meshRecipe(agentImage: string): string {
  const { uid } = sandboxHardening
  const command = ['node', ...program, 'serve'].map((word) => JSON.stringify(word)).join(', ')
  return `FROM ${agentImage}
USER 0
RUN rm -rf /opt/flotilla /usr/local/lib/npm /usr/local/bin/npm /usr/local/bin/npx /data /briefing && \\
    mkdir -p /opt/flotilla /var/lib/flotilla && chown ${uid}:${uid} /var/lib/flotilla
COPY flotilla/ ${place}/
RUN printf '#!/bin/sh\\nexec node --disable-sigusr1 ${place}/dist/package/cli/main.mjs "$@"\\n' > /usr/local/bin/flotilla && \\
    chmod 0755 /usr/local/bin/flotilla
ENV FLOTILLA_HOME=/var/lib/flotilla/home HOME=/tmp XDG_CACHE_HOME=/tmp/caches FLOTILLA_NO_INSTALL=1 FLOTILLA_RUNTIME=kubernetes
WORKDIR /
USER ${uid}:${uid}
CMD [${command}]
`
}

/** Returns the files of the package as archive entries below `flotilla/`, for the mesh image. */
export async function meshFiles(packageDirectory: string): Promise<readonly TarEntry[]> {
  const files = (await Promise.all(packageParts.map((part) => filesOf(join(packageDirectory, part))))).flat()
  const names = files.map((file) => `flotilla/${relative(packageDirectory, file)}`)
  const folders = new Set(names.flatMap(foldersOf))
  return [
    ...[...folders].toSorted().map((folder) => tarDirectory(folder, { uid: 0, mode: 0o755 })),
    ...(await Promise.all(files.map((file, index) => entryOf(names[index] ?? '', file)))),
  ]
}

/** The file is opened only when its content is read: opening all at once would exceed the limit of open files. */
async function entryOf(name: string, path: string): Promise<TarEntry> {
  const { size } = await stat(path)
  const content = (async function* read() {
    yield await readFile(path)
  })()
  return { name, uid: 0, mode: 0o644, size, content }
}

async function filesOf(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return null
    throw error
  })
  if (entries === null) return [path]
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function foldersOf(name: string): readonly string[] {
  const folder = dirname(name)
  return folder === '.' ? [] : [...foldersOf(folder), folder]
}
