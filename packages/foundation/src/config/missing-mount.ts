/** What a machine plans to mount, and what it has mounted. */
interface MountTables {
  /** The text of `/etc/fstab`: the file systems that the machine is meant to mount. */
  readonly planned: string
  /** The text of `/proc/self/mountinfo`: the file systems that are mounted. */
  readonly mounted: string
}

/** The fields of the mount points in a line of `/etc/fstab` (fstab(5)) and of `/proc/self/mountinfo` (proc(5)). */
const plannedField = 1
const mountedField = 4

/**
 * Returns the mount point that contains the folder according to `/etc/fstab` and has no file system now; null without
 * one. `folder` is absolute, without links. Pure.
 */
export function missingMount(folder: string, { planned, mounted }: MountTables): string | null {
  const present = new Set(mountPointsIn(mounted, mountedField))
  const missing = mountPointsIn(planned, plannedField).find(
    (point) => point !== '/' && isWithin(folder, point) && !present.has(point),
  )
  return missing ?? null
}

function isWithin(folder: string, point: string): boolean {
  return folder === point || folder.startsWith(`${point}/`)
}

function mountPointsIn(table: string, field: number): readonly string[] {
  return table.split('\n').flatMap((line) => {
    const point = line.trim().startsWith('#') ? undefined : line.trim().split(/[ \t]+/)[field]
    return point?.startsWith('/') ? [unescaped(point).replace(/(?<=.)\/+$/, '')] : []
  })
}

/** Both tables write blanks and backslashes as three octal digits. */
function unescaped(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
