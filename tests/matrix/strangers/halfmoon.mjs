// Halfmoon: a conforming implementation of the Commerce Service public interface by somebody who read nothing else.
// Where the interface says "not shown" it decides differently from what one would guess. No dependencies; Node 20.
//
//   node halfmoon.mjs --port 0 [--limit reads|all|none] [--break NAME]
//
// Prints one JSON line {"base_url": ..., "admin_url": ...} when it listens. `--break` seeds one real bug.

import crypto from "node:crypto";
import http from "node:http";
import zlib from "node:zlib";

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const LIMIT = option("limit", "reads");
const BREAK = option("break", "");
const BREAKS = ["scope-stem", "flat-fingerprint", "htu-origin", "lenient-number", "stuck-lock", "early-effect"];
if (BREAK && !BREAKS.includes(BREAK)) throw new Error(`--break is one of ${BREAKS.join(", ")}`);
const broken = (name) => BREAK === name;

const PREFIX = "/shop/eu/api/v1";
const MAX_BODY = 256 * 1024;
const MAX_DEPTH = 40;
const WORK_MS = 12; // between the checks of a write and its effect, so that calls can really be in flight
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// ---------------------------------------------------------------------------------------------------- errors

const TITLES = {
  400: "Ungültige Anfrage",
  401: "Nicht angemeldet",
  403: "Nicht erlaubt",
  404: "Nicht gefunden",
  409: "Konflikt",
  429: "Zu viele Anfragen",
};

class Problem extends Error {
  constructor(status, kind, detail, { errors, headers } = {}) {
    super(detail);
    Object.assign(this, { status, kind, detail, errors, headers: headers ?? {} });
  }

  body() {
    const { status, kind, detail, errors } = this;
    return { type: `urn:halfmoon:${kind}`, title: TITLES[status], status, detail, ...(errors && { errors }) };
  }
}

const invalid = (errors) => new Problem(400, "eingabe", "Die Anfrage entspricht nicht dem Vertrag.", { errors });
const conflict = (detail) => new Problem(409, "zustand", detail);
const keyConflict = (detail) => new Problem(409, "wiederholung", detail);
const missing = () => new Problem(404, "unbekannt", "Das gibt es hier nicht.");
const noKey = () =>
  new Problem(401, "schluessel", "Ein gültiger Schlüssel wird gebraucht.", {
    headers: { "WWW-Authenticate": 'ApiKey realm="halfmoon"' },
  });
const badProof = (why) =>
  new Problem(401, "nachweis", `Der DPoP-Nachweis gilt nicht: ${why}.`, {
    headers: { "WWW-Authenticate": 'DPoP error="invalid_dpop_proof", algs="RS256 ES256"' },
  });

// ---------------------------------------------------------------------------------------- bodies: JSON and types

function tooDeep(text) {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char === "\\") at += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "[" || char === "{") {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (char === "]" || char === "}") depth -= 1;
  }
  return false;
}

function soundValue(value) {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(soundValue);
  if (value && typeof value === "object") {
    return Object.keys(value).every((name) => soundValue(name) && soundValue(value[name]));
  }
  return true;
}

/** The JSON value of a body, or undefined where it is none that this service takes. */
function parsed(bytes) {
  if (bytes === null) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (tooDeep(text)) return undefined;
    const value = JSON.parse(text);
    return soundValue(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// A type takes a value, where it stands and the list of complaints; it returns what it recognises of the value.
const must = (test, words) => (value, at, errors) => {
  if (!test(value)) errors.push({ pfad: at, grund: words });
  return value;
};
const text = (max = 200) => must((v) => typeof v === "string" && v.length > 0 && v.length <= max, `Text, 1 bis ${max} Zeichen`);
const oneOf = (...values) => must((v) => values.includes(v), `eins von ${values.join(", ")}`);
const whole = (low, high) => must((v) => Number.isInteger(v) && v >= low && v <= high, `ganze Zahl, ${low} bis ${high}`);
const bool = must((v) => typeof v === "boolean", "wahr oder falsch");
const httpsUrl = must((v) => typeof v === "string" && v.length < 500 && /^https:\/\/[a-z0-9.-]+(\/[^\s]*)?$/i.test(v), "https-Adresse");
const optional = (type) => Object.assign((...given) => type(...given), { optional: true });
const nullable = (type) => (value, ...rest) => (value === null ? null : type(value, ...rest));
const listOf = (type) => (value, at, errors) => {
  if (!Array.isArray(value) || value.length === 0 || value.length > 20) {
    errors.push({ pfad: at, grund: "Liste mit 1 bis 20 Einträgen" });
    return value;
  }
  return value.map((entry, index) => type(entry, `${at}/${index}`, errors));
};
const record = (members, atLeast = 0) => (value, at, errors) => {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    errors.push({ pfad: at, grund: "Objekt" });
    return value;
  }
  const known = {};
  for (const [name, type] of Object.entries(members)) {
    if (Object.hasOwn(value, name)) known[name] = type(value[name], `${at}/${name}`, errors);
    else if (!type.optional) errors.push({ pfad: `${at}/${name}`, grund: "fehlt" });
  }
  if (Object.keys(known).length < atLeast) errors.push({ pfad: at, grund: "nichts zu ändern" });
  return known;
};

const EVENTS = ["bestellung.neu", "bestellung.storniert", "warenkorb.verfallen"];
const TYPES = {
  endpoint: record({
    zielUrl: httpsUrl,
    ereignisse: listOf(oneOf(...EVENTS)),
    bezeichnung: optional(nullable(text(80))),
  }),
  endpointPatch: record(
    {
      zielUrl: optional(httpsUrl),
      ereignisse: optional(listOf(oneOf(...EVENTS))),
      bezeichnung: optional(nullable(text(80))),
      aktiv: optional(bool),
    },
    1,
  ),
  transition: record({ waehrung: optional(oneOf("EUR", "CHF")), grund: text(120) }),
  checkout: record({
    kaeufer: record({ eMail: text(120), anzeigeName: text(80) }),
    lieferArt: oneOf("post", "abholung"),
    geschenk: optional(bool),
  }),
  afterSales: record({
    art: oneOf("defekt", "falsch", "reue"),
    positionen: listOf(record({ zeilenId: text(60), menge: whole(1, 2) })),
    bemerkung: optional(nullable(text(300))),
  }),
  token: record({
    vergabeArt: oneOf("authorization_code"),
    einmalCode: text(),
    weiterleitung: text(),
    mandant: text(),
    pruefwort: must((v) => typeof v === "string" && /^[A-Za-z0-9._~-]{43,128}$/.test(v), "43 bis 128 Zeichen"),
  }),
  ticket: record({ eintrittsKarte: text(80), sprache: optional(oneOf("de", "fr")) }),
  cancel: record({ rueckkehrMarke: text(80), grund: oneOf("kunde", "zeit") }),
};

// ------------------------------------------------------------------------------------------------------- state

const SCOPES = ["webhooks:write", "webhooks:read", "catalog:read", "checkout:quote"];
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
const letters = (count) => Array.from({ length: count }, () => LETTERS[crypto.randomInt(LETTERS.length)]).join("");
const newId = (kind) => `${kind}~${letters(5)}.${letters(7)}`;
const ID = /^[A-Za-z]{2}~[A-Za-z0-9]{5}\.[A-Za-z0-9]{7}$/;
const secret = () => `hm_${crypto.randomBytes(18).toString("base64url")}`;

const keys = new Map(); // secret -> key
function addKey(name, scopes, installation = "nord", revoked = false) {
  keys.set(secret(), { name, id: newId("Sk"), scopes, installation, revoked });
}
addKey("alles", SCOPES);
for (const scope of SCOPES) addKey(scope.replace(":", "-"), [scope]);
addKey("nichts", []);
addKey("widerrufen", SCOPES, "nord", true);
addKey("sued", SCOPES, "sued");

const things = new Map(); // id -> cart, order, endpoint or session
const codes = new Map();
const usedProofs = new Set();
const calls = new Map(); // installation and idempotency key -> { print, answer? }
const tokenKey = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });

function put(kind, members) {
  const thing = { kind, id: newId(kind), installation: "nord", ...members };
  things.set(thing.id, thing);
  return thing;
}

const make = {
  warenkorb: ({ zustand = "offen", ...rest }) =>
    put("Wk", { zustand, aktion: "HERBST", stand: 1, waehrung: "EUR", bestellungen: 0, ...rest }),
  bestellung: (rest) => put("Be", { zeilenId: `z.${letters(6)}`, vorgaenge: 0, ...rest }),
  endpunkt: (rest) =>
    put("Ep", { zielUrl: "https://ziel.example/a", ereignisse: [EVENTS[0]], bezeichnung: null, aktiv: true, aenderungen: 0, ...rest }),
  sitzung: (rest) =>
    put("Si", { zustand: "offen", karte: letters(24), marke: letters(24), schritte: 0, summe: 4200, ...rest }),
  code: (rest) => {
    const code = letters(30);
    codes.set(code, { einloesungen: 0, verbraucht: false, ...rest });
    return { einmalCode: code };
  },
};

const product = (number, haendler, kategorie) => ({
  produktId: `p~${number}.${haendler[0].toUpperCase()}`,
  titel: `Lampe Nr. ${number}`,
  kategorie,
  haendler,
  preis: { betrag: 990 + 10 * number, waehrung: "EUR" },
  bildUrl: number % 3 ? `https://bilder.example/${number}.png` : null,
});
const PRODUCTS = Array.from({ length: 11 }, (_, at) =>
  product(at + 1, at % 3 ? "mondschein" : "laternen-ag", at % 2 ? "stehlampen" : "tischlampen"),
);
const MERCHANTS = ["mondschein", "laternen-ag"];

// -------------------------------------------------------------------------------------------------- operations

const cartView = (cart) => ({
  warenkorbId: cart.id,
  zustand: cart.zustand,
  stand: cart.stand,
  aktion: cart.aktion,
  summe: { betrag: cart.aktion ? 4200 : 4700, waehrung: cart.waehrung },
});
const endpointView = ({ id, zielUrl, ereignisse, bezeichnung, aktiv }) => ({ endpunktId: id, zielUrl, ereignisse, bezeichnung, aktiv });
const sessionView = ({ id, zustand, summe }) => ({ sitzungId: id, zustand, summe });
const sameText = (left, right) =>
  crypto.timingSafeEqual(crypto.createHash("sha256").update(left).digest(), crypto.createHash("sha256").update(right).digest());

function live(cart) {
  if (cart.zustand === "widerrufen") throw conflict("Der Warenkorb ist widerrufen.");
  return cart;
}

function search(query) {
  const errors = [];
  for (const name of ["q", "locale", "market", "sort", "page", "pageSize"]) {
    if (!query.get(name)) errors.push({ pfad: `?${name}`, grund: "fehlt" });
  }
  const number = (name) => {
    const given = query.get(name) ?? "";
    const fits = broken("lenient-number") ? Number.parseInt(given, 10) >= 1 : /^[1-9][0-9]{0,8}$/.test(given);
    if (given && !fits) errors.push({ pfad: `?${name}`, grund: "ganze Zahl ab 1" });
    return Number.parseInt(given, 10);
  };
  const page = number("page");
  const size = Math.min(3, number("pageSize"));
  if (query.get("sort") && !["preis", "titel"].includes(query.get("sort"))) errors.push({ pfad: "?sort", grund: "preis oder titel" });
  if (errors.length) throw invalid(errors);
  const found = PRODUCTS.filter(
    (item) =>
      item.titel.toLowerCase().includes(query.get("q").toLowerCase()) &&
      (!query.has("category") || item.kategorie === query.get("category")) &&
      (!query.has("merchant") || item.haendler === query.get("merchant")),
  );
  return { data: found.slice((page - 1) * size, page * size), meta: { seite: page, proSeite: size, treffer: found.length } };
}

function exchange({ body, proof }) {
  const grant = codes.get(body.einmalCode);
  if (!grant || grant.verbraucht) throw new Problem(400, "vergabe", "Der Code gilt nicht.");
  if (grant.mandant !== body.mandant || grant.weiterleitung !== body.weiterleitung) {
    throw new Problem(400, "vergabe", "Der Code gilt nicht für diesen Mandanten.");
  }
  grant.verbraucht = true; // a wrong verifier burns the code
  const challenge = crypto.createHash("sha256").update(body.pruefwort).digest("base64url");
  if (!sameText(challenge, grant.pruefsumme)) throw new Problem(400, "vergabe", "Der Code gilt nicht.");
  grant.einloesungen += 1;
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const unsigned = [
    part({ typ: "at+jwt", alg: "ES256" }),
    part({ sub: body.mandant, iat: now, exp: now + 300, jti: letters(16), cnf: { jkt: proof.jkt } }),
  ].join(".");
  const signature = crypto.sign("sha256", Buffer.from(unsigned), { key: tokenKey.privateKey, dsaEncoding: "ieee-p1363" });
  return { data: { zugriffsMarke: `${unsigned}.${signature.toString("base64url")}`, markenArt: "DPoP", laeuftAbIn: 300 } };
}

const OPERATIONS = [];
function operation(method, path, access, rest, run) {
  OPERATIONS.push({ method, path: path.split("/").slice(1), access, ...rest, run });
}
const only = (slug) => {
  if (!MERCHANTS.includes(slug)) throw missing();
  return slug;
};

operation("POST", "/open/webhooks/endpoints", "webhooks:write", { type: TYPES.endpoint }, ({ body, key }) => ({
  data: endpointView(make.endpunkt({ bezeichnung: null, ...body, installation: key.installation })),
}));
operation("PATCH", "/open/webhooks/endpoints/:Ep", "webhooks:write", { type: TYPES.endpointPatch }, ({ body, thing }) => {
  Object.assign(thing, body).aenderungen += 1;
  return { data: endpointView(thing) };
});
operation("GET", "/open/webhooks/deliveries", "webhooks:read", {}, () => ({ data: { zustellungen: [], naechste: null } }));
operation("GET", "/open/identity", "", {}, ({ key }) => ({
  data: { schluesselId: key.id, installation: key.installation, rechte: key.scopes },
}));
operation("GET", "/open/installation/readiness", "", {}, ({ key }) => ({
  data: { installation: key.installation, bereit: true, fehlendes: [] },
}));
operation("GET", "/open/storefront/orders/:Be/after-sales-eligibility", "catalog:read", {}, ({ thing }) => ({
  data: { bestellungId: thing.id, moeglich: thing.vorgaenge === 0, vorgaenge: thing.vorgaenge },
}));
operation("GET", "/open/storefront/orders/:Be/cancellation-eligibility", "catalog:read", {}, ({ thing }) => ({
  data: { bestellungId: thing.id, moeglich: thing.vorgaenge === 0, hindernis: thing.vorgaenge ? "vorgang" : null },
}));
operation("POST", "/open/storefront/orders/:Be/after-sales", "catalog:read", { type: TYPES.afterSales }, ({ thing, body }) => {
  if (body.positionen.some((one) => one.zeilenId !== thing.zeilenId)) throw invalid([{ pfad: "/positionen", grund: "fremde Zeile" }]);
  if (thing.vorgaenge) throw conflict("Es gibt schon einen Vorgang.");
  thing.vorgaenge += 1;
  return { data: { vorgangId: newId("Vo"), bestellungId: thing.id, art: body.art, bemerkung: body.bemerkung ?? null } };
});
operation("GET", "/open/storefront/carts/:Wk/checkout-quote", "checkout:quote", {}, ({ thing }) => ({ data: cartView(thing) }));
operation("DELETE", "/open/storefront/carts/:Wk/promotion", "checkout:quote", { type: TYPES.transition, fresh: true }, ({ thing }) => {
  if (!live(thing).aktion) throw conflict("Der Warenkorb hat keine Aktion.");
  thing.aktion = null;
  thing.stand += 1;
  return { data: cartView(thing) };
});
operation("POST", "/open/storefront/carts/:Wk/checkout", "catalog:read", { type: TYPES.checkout }, ({ thing }) => {
  if (live(thing).zustand !== "angeboten") throw conflict("Der Warenkorb hat noch kein Angebot.");
  thing.zustand = "verbraucht";
  thing.bestellungen += 1;
  const order = make.bestellung({ installation: thing.installation });
  return { data: { bestellungId: order.id, warenkorbId: thing.id, summe: cartView(thing).summe } };
});
operation("POST", "/open/storefront/carts/:Wk/quote", "catalog:read", { type: TYPES.transition, fresh: true }, ({ thing, body }) => {
  live(thing).waehrung = body.waehrung ?? thing.waehrung;
  thing.zustand = "angeboten";
  thing.stand += 1;
  return { data: cartView(thing) };
});
operation("POST", "/open/storefront/carts/:Wk/revoke", "catalog:read", { type: TYPES.transition, fresh: true }, ({ thing }) => {
  live(thing).zustand = "widerrufen";
  thing.stand += 1;
  return { data: cartView(thing) };
});
operation("GET", "/search", "public", { read: true }, ({ query }) => search(query));
operation("GET", "/catalog/merchants/:slug/categories", "public", { read: true }, ({ slug }) => ({
  data: [...new Set(PRODUCTS.filter((item) => item.haendler === only(slug)).map((item) => item.kategorie))].map((name) => ({ schluessel: name })),
}));
operation("GET", "/catalog/merchants/:slug/products", "public", { read: true }, ({ slug }) => ({
  data: PRODUCTS.filter((item) => item.haendler === only(slug)),
}));
operation("GET", "/runtime-config", "public", { read: true }, () => ({ data: { waehrungen: ["EUR", "CHF"], wartung: false } }));
operation("POST", "/oauth/token", "dpop", { type: TYPES.token }, exchange);
operation("POST", "/hosted/checkout/:Si/ticket", "public", { type: TYPES.ticket }, ({ thing, body }) => {
  if (!sameText(body.eintrittsKarte, thing.karte)) throw new Problem(403, "karte", "Die Karte gilt hier nicht.");
  if (thing.zustand !== "offen") throw conflict("Die Karte ist entwertet oder die Sitzung beendet.");
  thing.zustand = "betreten";
  thing.schritte += 1;
  return { data: sessionView(thing) };
});
operation("POST", "/hosted/checkout/:Si/cancel", "public", { type: TYPES.cancel }, ({ thing, body }) => {
  if (!sameText(body.rueckkehrMarke, thing.marke)) throw new Problem(403, "karte", "Die Marke gilt hier nicht.");
  if (thing.zustand === "abgebrochen") throw conflict("Die Sitzung ist schon abgebrochen.");
  thing.zustand = "abgebrochen";
  thing.schritte += 1;
  return { data: sessionView(thing) };
});

// ---------------------------------------------------------------------------------------------- authentication

function authenticated(header, scope) {
  const [, given] = /^ApiKey +([\x21-\x7e]+)$/i.exec(header ?? "") ?? [];
  const key = keys.get(given);
  if (!key || key.revoked) throw noKey();
  const stem = (name) => (broken("scope-stem") ? name.split(":")[0] : name);
  if (scope && !key.scopes.some((held) => stem(held) === stem(scope))) {
    throw new Problem(403, "recht", "Dem Schlüssel fehlt ein Recht.");
  }
  return key;
}

function jsonPart(encoded) {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) throw badProof("Kodierung");
  const value = parsed(Buffer.from(encoded, "base64url"));
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw badProof("Aufbau");
  return value;
}

function thumbprint(jwk) {
  const members = jwk.kty === "EC" ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y } : { e: jwk.e, kty: jwk.kty, n: jwk.n };
  return crypto.createHash("sha256").update(JSON.stringify(members)).digest("base64url");
}

/** The key of a DPoP proof that fulfils RFC 9449, section 4.3; a proof counts once. */
function proven(header, url) {
  const parts = (header ?? "").split(".");
  if (parts.length !== 3) throw badProof("fehlt oder ist kein JWT");
  const [head, claims] = parts.slice(0, 2).map(jsonPart);
  const { jwk, alg, typ } = head;
  if (typ !== "dpop+jwt" || !["ES256", "RS256"].includes(alg)) throw badProof("Art oder Verfahren");
  if (!jwk || typeof jwk !== "object" || ["d", "p", "q", "k", "oth"].some((name) => name in jwk)) throw badProof("Schlüssel");
  const options = alg === "ES256" ? { dsaEncoding: "ieee-p1363" } : { padding: crypto.constants.RSA_PKCS1_PADDING };
  let good = false;
  try {
    if (alg === "ES256" ? jwk.kty !== "EC" || jwk.crv !== "P-256" : jwk.kty !== "RSA") throw badProof("Schlüssel");
    const key = crypto.createPublicKey({ key: jwk, format: "jwk" });
    if (!/^[A-Za-z0-9_-]+$/.test(parts[2])) throw badProof("Unterschrift");
    good = crypto.verify("sha256", Buffer.from(`${parts[0]}.${parts[1]}`), { key, ...options }, Buffer.from(parts[2], "base64url"));
  } catch {
    throw badProof("Schlüssel oder Unterschrift");
  }
  if (!good) throw badProof("Unterschrift");
  const { jti, htm, htu, iat } = claims;
  if (typeof jti !== "string" || !jti || jti.length > 500) throw badProof("jti");
  if (htm !== "POST") throw badProof("htm");
  let aim = null;
  try {
    aim = new URL(htu);
  } catch {
    throw badProof("htu");
  }
  if (aim.origin !== url.origin || (aim.pathname !== url.pathname && !broken("htu-origin"))) throw badProof("htu");
  if (typeof iat !== "number" || Math.abs(Date.now() / 1000 - iat) > 60) throw badProof("iat");
  const jkt = thumbprint(jwk);
  const use = `${jkt} ${jti}`;
  if (usedProofs.has(use)) throw badProof("schon benutzt");
  usedProofs.add(use);
  return { jkt };
}

// ------------------------------------------------------------------------------------------------- a request's way

let reads = 0;
function limited(operation) {
  if (LIMIT === "none" || (LIMIT === "reads" && !operation.read)) return;
  reads += 1;
  if (reads % 10 === 0) throw new Problem(429, "rate", "Bitte langsamer.", { headers: { "Retry-After": "1" } });
}

function routed(method, pathname) {
  if (!pathname.startsWith(`${PREFIX}/`)) throw missing();
  const raw = pathname.slice(PREFIX.length + 1).split("/");
  for (const candidate of OPERATIONS) {
    if (candidate.method !== method || candidate.path.length !== raw.length) continue;
    if (candidate.path.every((part, at) => part.startsWith(":") || part === raw[at])) {
      const at = candidate.path.findIndex((part) => part.startsWith(":"));
      return { operation: candidate, raw: at < 0 ? null : raw[at], kind: at < 0 ? null : candidate.path[at].slice(1) };
    }
  }
  throw missing();
}

function decoded(raw) {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw invalid([{ pfad: "pfad", grund: "Kodierung" }]);
  }
}

function found(kind, id, key) {
  if (!ID.test(id)) throw invalid([{ pfad: "pfad", grund: "keine Kennung" }]);
  const thing = things.get(id);
  if (!thing || thing.kind !== kind || thing.zustand === "verbraucht") throw missing();
  if (key && thing.installation !== key.installation) throw new Problem(403, "fremd", "Das gehört einer anderen Installation.");
  return thing;
}

function canonical(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return broken("flat-fingerprint") ? "[]" : `[${value.map(canonical).join()}]`;
  const flat = (member) => (broken("flat-fingerprint") && member && typeof member === "object" ? '"[object Object]"' : canonical(member));
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${flat(value[name])}`).join()}}`;
}

async function executed(context) {
  const { operation, kind, id, key, json } = context;
  const find = () => (kind && kind !== "slug" ? found(kind, id, key) : null);
  const thing = find();
  if (!operation.type) return operation.run({ ...context, thing, slug: id });
  if (broken("early-effect") && operation.fresh && thing.zustand !== "widerrufen") thing.stand += 1;
  if (json === undefined) throw invalid([{ pfad: "", grund: "kein JSON" }]);
  const errors = [];
  const body = operation.type(json, "", errors);
  if (errors.length) throw invalid(errors);
  await sleep(WORK_MS);
  return operation.run({ ...context, body, thing: find() });
}

/** Calls with the same idempotency key are one call, in all of an installation; only what succeeded is remembered. */
async function once(context) {
  const { operation, query, key, kind, id, json, bytes, proof } = context;
  const given = operation.type && query.get("request_id");
  if (!given) return { answer: await executed(context) };
  const space = key?.installation ?? (kind === "Si" ? things.get(id)?.installation : null) ?? "-";
  const name = `${space} ${given}`;
  const meant = json === undefined ? crypto.createHash("sha256").update(bytes ?? "").digest("hex") : canonical(operation.type(json, "", []));
  const print = [operation.method, operation.path.join("/"), id, proof?.jkt, meant].join("\n");
  const known = calls.get(name);
  if (known) {
    if (known.print !== print) throw keyConflict("Diese request_id gehört zu einer anderen Anfrage.");
    if (!known.answer) throw keyConflict("Diese Anfrage läuft noch.");
    const cart = operation.fresh && things.get(id);
    return { answer: cart ? { data: cartView(cart) } : known.answer, again: true };
  }
  calls.set(name, { print });
  let answer;
  try {
    answer = await executed(context);
  } finally {
    if (answer) calls.set(name, { print, answer });
    else if (!broken("stuck-lock")) calls.delete(name);
  }
  return { answer };
}

async function answered(request, bytes) {
  const url = new URL(`http://${request.headers.host ?? "localhost"}${request.url.startsWith("/") ? request.url : "/"}`);
  const { operation, raw, kind } = routed(request.method, request.url.split(/[?#]/)[0]);
  const { access } = operation;
  const key = access === "public" || access === "dpop" ? null : authenticated(request.headers.authorization, access);
  const proof = access === "dpop" ? proven(request.headers.dpop, url) : null;
  limited(operation);
  const id = raw === null ? null : decoded(raw);
  const context = { operation, key, proof, kind, id, query: url.searchParams, bytes, json: operation.type && parsed(bytes) };
  const { answer, again } = await once(context);
  return {
    status: 200,
    headers: again ? { "X-Wiedergabe": "ja" } : {},
    body: { ...answer, links: { self: url.pathname }, served_at: new Date().toISOString() },
  };
}

/** The whole body; null where it is too long (the rest is read and thrown away, so that the answer arrives). */
async function received(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= MAX_BODY) parts.push(part);
    if (size > 64 * MAX_BODY) break;
  }
  return size > MAX_BODY ? null : Buffer.concat(parts);
}

const failure = (error) =>
  error instanceof Problem ? error : invalid([{ pfad: "", grund: `unlesbar (${error?.code ?? error?.name ?? "?"})` }]);

let answers = 0;
async function handle(request, response) {
  let outcome;
  try {
    outcome = await answered(request, await received(request));
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    const problem = failure(error);
    outcome = { status: problem.status, headers: problem.headers, body: problem.body() };
  }
  answers += 1;
  const accepted = (request.headers["accept-encoding"] ?? "").split(",").map((entry) => entry.replace(/\s/g, "").toLowerCase());
  const gzip = accepted.some((entry) => entry === "gzip" || (entry.startsWith("gzip;q=") && Number(entry.slice(7)) > 0));
  const type = outcome.status === 200 ? "application/json" : "application/problem+json";
  response.writeHead(outcome.status, {
    ...outcome.headers,
    "Content-Type": `${type}; charset=utf-8`,
    "Cache-Control": "no-store",
    Vary: "Accept-Encoding",
    ...(gzip && { "Content-Encoding": "gzip" }),
    ...(answers % 7 === 0 && { Connection: "close" }),
  });
  const plain = Buffer.from(JSON.stringify(outcome.body));
  const bytes = gzip ? zlib.gzipSync(plain) : plain;
  response.write(bytes.subarray(0, 20)); // no Content-Length: the answer is sent in chunks
  response.end(bytes.subarray(20));
}

function refusedUnread(error, socket) {
  if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy();
  const body = JSON.stringify(failure(error).body());
  const head = ["HTTP/1.1 400 Bad Request", "Content-Type: application/problem+json", `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"];
  return socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

// -------------------------------------------------------------------------------------------------------- admin

async function administer(request, response) {
  const url = new URL(request.url, "http://admin");
  const [, what, ...rest] = url.pathname.split("/").map(decodeURIComponent);
  let body = null;
  if (what === "schluessel") {
    const [given] = [...keys].find(([, key]) => key.name === rest[0]) ?? [];
    if (given) body = { schluessel: given };
  } else if (what === "mache" && make[rest[0]]) {
    const bytes = await received(request);
    body = make[rest[0]](bytes.length ? JSON.parse(bytes) : {});
  } else if (what === "wirkung") {
    if (rest[0] === "endpunkte") {
      body = { anzahl: [...things.values()].filter((thing) => (thing.zielUrl ?? "").endsWith(`/${rest[1]}`)).length };
    } else body = things.get(rest[0]) ?? codes.get(rest[0]) ?? null;
  }
  response.writeHead(body ? 200 : 404, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body ?? { fehler: "unbekannt" }));
}

const listening = (server, port) => new Promise((done) => server.listen(port, "127.0.0.1", () => done(server.address().port)));
const shop = http.createServer({ keepAliveTimeout: 30_000 }, handle);
shop.on("clientError", refusedUnread);
shop.on("checkExpectation", handle);
const port = await listening(shop, Number(option("port", "0")));
const adminPort = await listening(http.createServer(administer), 0);
console.log(JSON.stringify({ base_url: `http://127.0.0.1:${port}/shop/eu`, admin_url: `http://127.0.0.1:${adminPort}` }));
