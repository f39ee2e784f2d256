import type { DataUse } from '../sandbox-runtime.ts'

/** The time limit for counting one agent's data. */
export const countMaxSeconds = 20
/** Above this number an agent has too many files, whatever its limit is. */
const filesMax = 2_000_000
/** Folders counted by one call, so that a call has an end. */
export const foldersPerCountMax = 50

/**
 * A shell script that prints one line for each folder: bytes on the disk, files, and `whole` or `part`. A file with
 * several names counts once; counting ends after 20 s, or at two million files. Pure.
 */
export function countScript(folders: readonly string[]): string {
  return folders
    .map(
      (path) =>
        `{ timeout ${countMaxSeconds} find ${quoted(path)} -xdev -printf '%b %y%n %i\\n' 2>/dev/null; echo "end $?"; } | ` +
        // The line that marks the end is printed even if the file list is truncated.
        `awk '$1 == "end" { whole = ($2 == 0 || $2 == 1) && !cut; next } cut { next } ` +
        `/^[0-9]+ f/ && $2 != "f1" && seen[$3]++ { next } { blocks += $1; files++ } files > ${filesMax} { cut = 1 } ` +
        `END { printf "%.0f %.0f %s\\n", blocks * 512, files, whole ? "whole" : "part" }'`,
    )
    .join('\n')
}

/** Parses one use per line of the script's output, in its order. Pure. */
export function readCounts(printed: string): readonly DataUse[] {
  return printed
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, bytes, files, how] = /^(\d+) (\d+) (whole|part)$/.exec(line.trim()) ?? []
      if (bytes === undefined || files === undefined) return []
      return [{ bytes: Number(bytes), files: Number(files), complete: how === 'whole' }]
    })
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`
}
