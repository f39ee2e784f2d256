/** The home whose pods are on nodes that are nowhere. */
export const hollowHome = 'hollow-fleet'
export const namespace = 'flotilla'
