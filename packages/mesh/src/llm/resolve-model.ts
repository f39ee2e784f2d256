/** A model as the catalog knows it: `provider/model`, where the model's own name may hold further slashes. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** The first slash splits; a bare name belongs to the default provider. Null for an empty half. Pure. */
export function resolveModel(name: string, defaultProvider: string): ModelName | null {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? defaultProvider : name.slice(0, slash)
  const model = name.slice(slash + 1)
  return provider === '' || model === '' ? null : { provider, model }
}

export function fullName(name: ModelName): string {
  return `${name.provider}/${name.model}`
}

/** True for `*` and `provider/*`, which stand in lists and are no model. Pure. */
export function namesMany(name: string): boolean {
  return name.slice(name.indexOf('/') + 1) === '*'
}

/**
 * May a list of model names, bare or full, `*` or `provider/*`, be read as allowing this model? Pure.
 */
export function modelIsListed(list: readonly string[], wanted: ModelName, defaultProvider: string): boolean {
  return list.some((entry) => {
    if (entry === '*') return true
    const listed = resolveModel(entry, defaultProvider)
    if (listed === null || listed.provider !== wanted.provider) return false
    return listed.model === '*' || listed.model === wanted.model
  })
}
