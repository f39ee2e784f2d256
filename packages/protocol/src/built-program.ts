/**
 * Our programs as `scripts/build-programs.ts` joined them: one file where a start would read and compile hundreds. Which
 * sources it was made of stands beside it, and where one of them is another by now, the program runs from its sources.
 */
export type ProgramName = 'mesh' | 'cli'

/** What a build was made of, in `<name>.json` of the folder. */
export interface ProgramRecord {
  /** The checkout that it was built in: its paths are in the files. */
  readonly root: string
  /** Absolute path of the module to load in place of the program’s `run-command-line.ts`. */
  readonly module: string
  /** Sources of ours by absolute path, and the lock file, which stands for everybody else’s. */
  readonly inputs: Readonly<Record<string, SourceStamp>>
}

/** What of a file tells that it was written again: bytes, and milliseconds since 1970 with their fraction. */
export type SourceStamp = readonly [sizeBytes: number, modifiedMs: number]

/** What of `node:fs` it takes to look at a build. */
export interface BuildFiles {
  readFileSync(path: string, encoding: 'utf8'): string
  statSync(
    path: string,
    options: { readonly throwIfNoEntry: false },
  ): { readonly size: number; readonly mtimeMs: number } | undefined
}

/** Where builds lie, below the root of the checkout. Whoever installs anew begins anew. */
export const programsFolder = 'node_modules/.cache/flotilla-programs'

/**
 * The file to start a program with: its `main.ts` without types, where there is a build, since to take types away costs
 * Node more than a short command does. It decides like that one which module to load.
 */
export function programFile(files: BuildFiles, root: string, name: ProgramName): string {
  const built = `${root}/${programsFolder}/${name}/main.mjs`
  return stampOf(files, built) === null ? `${root}/packages/${name}/src/main.ts` : built
}

/** The path of the module to import; null where there is none of just these sources. Reads each source’s stamp. */
export function builtProgram(files: BuildFiles, root: string, name: ProgramName): string | null {
  const record = readProgramRecord(files, root, name)
  if (record === null || record.root !== root || stampOf(files, record.module) === null) return null
  const isOfTheseSources = Object.entries(record.inputs).every(([file, [sizeBytes, modifiedMs]]) => {
    const now = stampOf(files, file)
    return now !== null && now[0] === sizeBytes && now[1] === modifiedMs
  })
  return isOfTheseSources ? record.module : null
}

/** Null where there is no such file. */
export function stampOf(files: BuildFiles, file: string): SourceStamp | null {
  const found = files.statSync(file, { throwIfNoEntry: false })
  return found ? [found.size, found.mtimeMs] : null
}

/** Null where nothing, or nothing whole, lies there. */
function readProgramRecord(files: BuildFiles, root: string, name: ProgramName): ProgramRecord | null {
  try {
    // Written whole by our own build, into a folder where whoever can write could change any program.
    return JSON.parse(files.readFileSync(`${root}/${programsFolder}/${name}.json`, 'utf8')) as ProgramRecord
  } catch {
    return null
  }
}
