/**
 * Builds what has changed since the last build, with the Node at `node`; the build prints its errors on standard
 * error. Does nothing in an installed package, or in a checkout that this user cannot write to.
 */
export function buildOutdated(
  root: string,
  node: string,
  env: Readonly<Record<string, string | undefined>>,
): void
