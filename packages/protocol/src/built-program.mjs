// Plain JavaScript, since the bootstrap reads it too, under whatever Node there is. Its types stand beside it.

/** What is built, by the name of its record. */
export const buildNames = ['mesh', 'cli', 'dashboard', 'agent']

/** Builds lie here, below the root of the checkout: what they leave to be found lies in its `node_modules`. */
export const programsFolder = 'dist/programs'

export const programNodeFlags = ['--disable-sigusr1', '--min-semi-space-size=16']

export const packageFolder = 'dist/package'

const mainFiles = { dashboard: 'index.html', agent: 'agent.cjs' }

export function packedFile(files, root, path) {
  const packed = `${root}/${packageFolder}/${path}`
  const isCheckout = stampOf(files, `${root}/packages/cli/src/main.ts`) !== null
  return isCheckout || stampOf(files, packed) === null ? null : packed
}

export function programFile(files, root, name) {
  return builtProgram(files, root, name) ?? `${root}/packages/${name}/src/main.ts`
}

export function builtProgram(files, root, name) {
  const packed = packedFile(files, root, `${name}/${mainFiles[name] ?? 'main.mjs'}`)
  if (packed !== null) return packed
  const record = readRecord(files, `${root}/${programsFolder}/${name}.json`)
  if (record === null || record.root !== root) return null
  const areAsTheyWere = ([file, [sizeBytes, modifiedMs]]) => {
    const now = stampOf(files, file)
    return now !== null && now[0] === sizeBytes && now[1] === modifiedMs
  }
  const isWhole = Object.entries({ ...record.inputs, ...record.outputs }).every(areAsTheyWere)
  return isWhole ? record.main : null
}

export function stampOf(files, file) {
  const found = files.statSync(file, { throwIfNoEntry: false })
  return found ? [found.size, found.mtimeMs] : null
}

function readRecord(files, path) {
  try {
    return JSON.parse(files.readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
