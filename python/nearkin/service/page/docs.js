// The routes of the service, from its OpenAPI document.

import { around, at, node } from "./nodes.js";

// A text whose `code` becomes elements.
function marked(text) {
  return text.split("`").map((part, number) => (number % 2 ? node("code", part) : part));
}

// The media types of a body, with their examples.
function bodyOf(content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema, examples }]) => [
    around("p", "", node("code", type), ...marked(` ${schema?.description ?? ""}`)),
    ...Object.entries(examples ?? {}).map(([name, { value }]) =>
      around("figure", "", node("figcaption", name), node("pre", JSON.stringify(value, null, 2))),
    ),
  ]);
}

function responseOf(status, { description, content }) {
  const summary = around("summary", "", node("code", status), ...marked(` ${description}`));
  return around("details", "", summary, ...bodyOf(content));
}

function routeOf(path, method, route) {
  const parameters = (route.parameters ?? []).flatMap(({ name, in: place, description }) => [
    around("dt", "", node("code", name), ` (${place})`),
    around("dd", "", ...marked(description ?? "")),
  ]);
  const done = Object.entries(route.responses).filter(([status]) => status < "300");
  return around(
    "section",
    "",
    around("h2", "", node("code", `${method.toUpperCase()} ${path}`)),
    around("p", "", node("strong", route.summary), ...marked(` ${route.description ?? ""}`)),
    ...(parameters.length > 0 ? [node("h3", "Parameters"), around("dl", "", ...parameters)] : []),
    ...(route.requestBody ? [node("h3", "Body"), ...bodyOf(route.requestBody.content)] : []),
    node("h3", "Response"),
    ...done.map(([status, response]) => responseOf(status, response)),
  );
}

const schema = await (await fetch("/openapi.json", { credentials: "omit", redirect: "error" })).json();
const routes = Object.entries(schema.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, route]) => [path, method, route]),
);
const problems = Object.entries(routes[0][2].responses).filter(([status]) => status >= "300");
at("title").textContent = `nearkin ${schema.info.version}: routes`;
at("about").prepend(...marked(`${schema.info.description} `));
at("routes").append(
  ...routes.map((route) => routeOf(...route)),
  around("section", "", node("h2", "Problems"), ...problems.map(([status, response]) => responseOf(status, response))),
);
