/** Its presence means that a hosted front end stands before this machine; its content keys the session cookie. */
export const accessTokenPath = '/opt/flotilla/.access_token'

/** Marks a managed host. Without the access token beside it nobody can be known, so nobody is let in. */
export const hostedMarkerPath = '/opt/flotilla/.subdomain'
