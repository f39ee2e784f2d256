/** The result of one check of doctor. */
export interface DoctorFinding {
  /** A stable id in kebab-case that people can search for. */
  readonly id: string
  readonly level: 'ok' | 'warning' | 'error'
  readonly detail: string
  /** What the owner should do; empty if nothing is needed. */
  readonly repair: string
}

export function ok(id: string, detail: string): DoctorFinding {
  return { id, level: 'ok', detail, repair: '' }
}

export function warning(id: string, detail: string, repair: string): DoctorFinding {
  return { id, level: 'warning', detail, repair }
}

export function failure(id: string, detail: string, repair: string): DoctorFinding {
  return { id, level: 'error', detail, repair }
}
