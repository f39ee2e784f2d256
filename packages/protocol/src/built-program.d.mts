/**
 * Programs of this project as `scripts/build-programs.ts` bundled them: a few files instead of hundreds that a start
 * would read, strip of types and compile. Their inputs are listed beside them; if any input has changed, the program
 * runs from its sources.
 */
export type ProgramName = 'mesh' | 'cli'
/**
 * What is built: the programs, the pages that the mesh serves, whose `main` is their document, and the agent as one
 * that is a plain process begins with it.
 */
export type BuildName = ProgramName | 'dashboard' | 'agent'

/**
 * Node flags before a program of this project, also in `bin/flotilla`. Without the first, a signal from any program of this user opens an
 * inspector in the process that holds every key. With the second, the young generation starts at its final 16 MB
 * instead of growing: a start takes a sixth less CPU time, for 15 MB.
 */
export const programNodeFlags: readonly string[]

/** What of a file tells that it was written again: bytes, and milliseconds since 1970 with their fraction. */
export type FileStamp = readonly [sizeBytes: number, modifiedMs: number]

/** What a build was made of and what it made, in `<name>.json` of the folder. Paths are absolute. */
export interface ProgramRecord {
  /** The checkout that it was built in: its paths are in the files. */
  readonly root: string
  /** The file to start. */
  readonly main: string
  /** This project's sources, and the lock file, which covers all dependencies. */
  readonly inputs: Readonly<Record<string, FileStamp>>
  readonly outputs: Readonly<Record<string, FileStamp>>
}

/** What of `node:fs` it takes to look at a build. */
export interface BuildFiles {
  readFileSync(path: string, encoding: 'utf8'): string
  statSync(
    path: string,
    options: { readonly throwIfNoEntry: false },
  ): { readonly size: number; readonly mtimeMs: number } | undefined
}

/** All that is built, in no order. */
export const buildNames: readonly BuildName[]

/** Where builds lie, below the root of the checkout. */
export const programsFolder: string

/** What `npm pack` puts into the package, below its root; in a checkout it is there for the moment of packing. */
export const packageFolder: string

/**
 * The path of a file of the installed package; null in a checkout, which uses its sources, and if it does not exist.
 */
export function packedFile(files: BuildFiles, root: string, path: string): string | null

/** The path of the file to start a program with: as it was built of just these sources, or its `main.ts`. */
export function programFile(files: BuildFiles, root: string, name: ProgramName): string

/** The path of the file as it was built; null where there is no whole build of just these sources. */
export function builtProgram(files: BuildFiles, root: string, name: BuildName): string | null

/** Null where there is no such file. */
export function stampOf(files: BuildFiles, file: string): FileStamp | null
