/** One thing that doctor looked at. */
export interface DoctorFinding {
  /** Stable, kebab-case; what people search for. */
  readonly id: string
  readonly level: 'ok' | 'warning' | 'error'
  readonly detail: string
  /** What the owner does about it; empty where nothing is to be done. */
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
