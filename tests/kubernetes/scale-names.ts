/** The home whose pods are on simulated nodes. */
export const hollowHome = 'hollow-fleet'
export const namespace = 'flotilla'
