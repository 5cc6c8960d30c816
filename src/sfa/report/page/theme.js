// Light or dark: as the system says, or as the reader chose, which is remembered.

const THEME_KEY = "sfa-report-theme";
const root = document.documentElement;
const repaint = shared(0);
// Changes whenever colours do; what is painted on a canvas must then be painted anew.

function remembered() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null; // some browsers keep nothing for a file on disk
  }
}

function remember(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // it then lasts until the page is closed
  }
}

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);

function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  repaint.set(repaint.get() + 1);
}

function themeButton() {
  const button = el("button", { type: "button", class: "quiet", id: "theme" });
  const show = () => (button.textContent = isDark() ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    remember(theme);
    setTheme(theme);
  });
  repaint.watch(show);
  systemIsDark.addEventListener("change", () => repaint.set(repaint.get() + 1));
  show();
  return button;
}

if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();

// Paper is white.
let themeOnScreen;
addEventListener("beforeprint", () => {
  themeOnScreen = root.dataset.theme;
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(themeOnScreen));
